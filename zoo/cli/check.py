"""`zoo check`: whether nets would work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import click

from netdsl.layer import Shape
from netdsl.lint import Finding, check_net
from zoo.cli import options
from zoo.cli.output import print_json


def _shapes(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Shape]:
    found = {}
    for value in values:
        name, _, sizes = value.partition("=")
        try:
            found[name] = tuple(int(size) for size in sizes.split("x"))
        except ValueError:
            raise click.BadParameter(f"'{value}' isn't like data=3x224x224") from None
    return found


@click.command("check", short_help="Whether nets would work.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--run", is_flag=True, help="Also run each net once, forward, on small random input.")
@click.option(
    "--assume",
    multiple=True,
    metavar="BLOB=SHAPE",
    callback=_shapes,
    help="The shape of a blob whose data layer doesn't say it, without the batch: data=3x224x224.",
)
@click.option("--stage", "stages", multiple=True, help="A stage that the net is in, for include rules.")
@options.as_json
def command(
    files: tuple[str, ...], run: bool, assume: Mapping[str, Shape], stages: tuple[str, ...], as_json: bool
) -> None:
    """Check that each net can be parsed, has only known layer types, connects in the phases that it is for, and has
    shapes that fit. Exits with 1 if one doesn't.
    """
    findings = []
    for file in files:
        findings.append(check_net(file, run=run, assume=assume, stages=stages))
        if not as_json:
            click.echo(_line(findings[-1]))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    if not all(finding.resolved and finding.ran is not False for finding in findings):
        raise click.exceptions.Exit(1)


def _line(finding: Finding) -> str:
    if finding.needs_code:
        return f"{finding.file}: needs the Python code of {', '.join(finding.needs_code)}"
    if finding.reason:
        return f"{finding.file}: {finding.reason}"
    return f"{finding.file}: good for {' and '.join(finding.phases)}{', runs' if finding.ran else ''}"
