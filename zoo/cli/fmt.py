"""`zoo fmt`: put prototxt files into one layout."""

from __future__ import annotations

import sys

import click

from caffe_proto.errors import CaffeError
from caffe_proto.text.prototxt import reformat, reformat_file
from zoo.cli import options
from zoo.cli.output import ExitCode, complain, print_bytes, print_json


@click.command("fmt", short_help="Put prototxt files into one layout.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Change nothing; the exit code is 1 if a file would change.")
@options.as_json
@options.lenient
def command(files: tuple[str, ...], check: bool, as_json: bool, lenient: bool) -> None:
    """Put prototxt files into one layout: two spaces, one field a line, double quotes. The order of fields and the
    comments stay. With `-` standard input is formatted and printed.
    """
    if files == ("-",):
        data = sys.stdin.buffer.read()
        formatted = reformat(data, "<stdin>", lenient=lenient)
        if check:
            raise click.exceptions.Exit(ExitCode.NO if formatted != data else ExitCode.FINE)
        print_bytes(formatted)
        return
    changed, failed = [], []
    for file in files:
        try:
            if reformat_file(file, write=not check, lenient=lenient):
                changed.append(file)
        except CaffeError as problem:  # the other files are formatted all the same
            failed.append(file)
            complain(problem)
    if as_json:
        print_json({"changed": changed, "failed": failed})
    else:
        for file in changed:
            click.echo(f"{'would change' if check else 'changed'} {file}")
    if failed or (check and changed):
        raise click.exceptions.Exit(ExitCode.WRONG if failed else ExitCode.NO)
