"""`zoo fmt`: prototxt in one layout."""

from __future__ import annotations

import json
import sys

import click

from caffe_proto.errors import CaffeError
from caffe_proto.text.reformat import reformat, reformat_file
from zoo.cli import options


@click.command("fmt", short_help="Put prototxt into one layout.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a file would change.")
@options.as_json
@options.lenient
def command(files: tuple[str, ...], check: bool, as_json: bool, lenient: bool) -> None:
    """Put prototxt files into one layout: two spaces, one field a line, double quotes. The order of fields and the
    comments stay. `-` reads standard input and prints.
    """
    if files == ("-",):
        data = sys.stdin.buffer.read()
        sys.stdout.buffer.write(reformat(data, "<stdin>", lenient=lenient))
        return
    changed, failed = [], []
    for file in files:
        try:
            if reformat_file(file, write=not check, lenient=lenient):
                changed.append(file)
        except CaffeError as problem:  # the other files are formatted all the same
            failed.append(file)
            click.echo(f"zoo: {problem}", err=True)
    if as_json:
        click.echo(json.dumps({"changed": changed, "failed": failed}, indent=2))
    else:
        for file in changed:
            click.echo(f"{'would change' if check else 'changed'} {file}")
    if failed or (check and changed):
        raise click.exceptions.Exit(2 if failed else 1)
