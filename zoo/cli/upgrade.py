"""`zoo upgrade`: bring old nets and solvers to today's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from caffe_proto.errors import UpgradeError, in_file
from caffe_proto.files import Form, prototxt, read, write
from caffe_proto.upgrade.file import upgrade_file
from zoo.cli import options
from zoo.cli.output import print_bytes, print_json, progress_bar

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from caffe_proto.files import CaffeFile


@click.command("upgrade", short_help="Bring an old file to today's form.")
@click.argument("file", metavar="FILE")
@click.argument("output", metavar="[OUTPUT]", required=False)
@click.option("--in-place", is_flag=True, help="Write the result to FILE itself.")
@options.as_json
@options.lenient
@options.dialect
def command(file: str, output: str | None, in_place: bool, as_json: bool, lenient: bool, dialect: str | None) -> None:
    """Bring an old net or solver to today's form, as Caffe's own upgrade tools do: V0 and V1 layers, data
    transformations, inputs, BatchNorm's parameters, solver types. If a part can't be upgraded, nothing is written.

    A prototxt is printed if there is no OUTPUT. The list of changes goes to standard error.
    """
    if in_place and output:
        raise click.UsageError("name OUTPUT or use --in-place, not both")
    target = file if in_place else output
    with progress_bar(doing="upgrading"):
        upgraded, changes = upgrade(file, dialect, lenient)
    if target is None and upgraded.form is not Form.TEXT and not as_json:
        raise click.UsageError("a binary file can't be printed: name OUTPUT, or use --in-place")
    if target is not None:
        write(upgraded, target)
    if as_json:
        print_json({"file": file, "output": target, "changes": changes})
        return
    for change in changes or ("already in today's form",):
        click.echo(change, err=True)
    if target is None:
        print_bytes(prototxt(upgraded).encode("utf-8", "surrogateescape"))


def upgrade(path: str, dialect: str | None, lenient: bool) -> tuple[CaffeFile[Message], tuple[str, ...]]:
    """A file in today's form, and the list of changes; errors name the file."""
    file = read(path, dialect=dialect, lenient=lenient)
    try:
        return upgrade_file(file)
    except UpgradeError as problem:
        raise UpgradeError(in_file(path, problem)) from None
