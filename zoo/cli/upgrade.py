"""`zoo upgrade`: old nets and solvers in today's form."""

from __future__ import annotations

import json

import click

from caffe_proto.files import Form, form_of, prototxt, read, write
from caffe_proto.upgrade.file import upgrade_file
from zoo.cli import options


@click.command("upgrade", short_help="Bring an old file to today's form.")
@click.argument("file", metavar="FILE")
@click.argument("output", metavar="[OUTPUT]", required=False)
@click.option("--in-place", is_flag=True, help="Write the result to FILE itself.")
@options.as_json
@options.lenient
@options.dialect
def command(file: str, output: str | None, in_place: bool, as_json: bool, lenient: bool, dialect: str | None) -> None:
    """Bring an old net or solver to today's form, as Caffe's own upgrade tools do: V0 and V1 layers, data
    transformations, inputs, BatchNorm's parameters, solver types. All or nothing.

    A prototxt without OUTPUT is printed, and what was changed goes to standard error.
    """
    if in_place and output:
        raise click.UsageError("give OUTPUT or --in-place, not both")
    target = file if in_place else output
    upgraded, changes = upgrade_file(read(file, dialect=dialect, lenient=lenient))
    if target is None and upgraded.form is not Form.TEXT and not as_json:
        raise click.UsageError("a binary file can't be printed: name OUTPUT, or use --in-place")
    if target is not None:
        form_of(target)
        write(upgraded, target)
    if as_json:
        click.echo(json.dumps({"file": file, "output": target, "changes": changes}, indent=2))
        return
    for change in changes or ("already in today's form",):
        click.echo(change, err=True)
    if target is None:
        click.echo(prototxt(upgraded), nl=False)
