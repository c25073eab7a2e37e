"""Output of `zoo adopt`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from zoo.adopting.adopt import AdoptedScript, AdoptedSolver, Adoption
from zoo.cli.output import counted
from zoo.requests.adopting import AdoptRequest


def show_adoption(adoption: Adoption, request: AdoptRequest) -> None:
    """Print what the project contains, the verdicts on its solvers, and what to do."""
    contents = [counted(count, kind) for kind, count in adoption.contents.items() if count]
    click.echo(f"{adoption.folder}: {', '.join(contents) or 'no file of Caffe'}")
    for reason in adoption.unreadable:
        click.echo(f"  can't be read: {reason}")
    for solver in adoption.solvers:
        _print_lines(f"solver {solver.solver}", _lines_about_solver(solver))
    if adoption.scripts:
        click.echo("")
    for script in adoption.scripts:
        click.echo(f"script {script.script}: {'; '.join(_facts_about_script(script))}")
    if adoption.patch:
        _print_edits(adoption)
    if adoption.scripts:
        click.echo("\nTo run the scripts unchanged:")
        if request.caffe_folder is None:
            click.echo(f"  zoo adopt {adoption.folder} --caffe-folder ~/caffe")
        for command in adoption.caffe:
            click.echo(f"  {command}")
    for title, good in (("To train:", True), ("To train, when the missing parts are there:", False)):
        commands = [solver.command for solver in adoption.solvers if solver.good is good]
        if commands:
            click.echo("\n".join([f"\n{title}", *(f"  {command}" for command in commands)]))


def _print_lines(title: str, lines: Iterator[str]) -> None:
    click.echo(f"\n{title}")
    for line in lines:
        click.echo(f"  {line}")


def _lines_about_solver(solver: AdoptedSolver) -> Iterator[str]:
    used = f", used by {', '.join(solver.scripts)}" if solver.scripts else ""
    yield f"runs in {solver.folder}{used}"
    yield from (link.reason or f"{link.part} {link.name}: {link.note}" for link in solver.chain)


def _facts_about_script(script: AdoptedScript) -> Iterator[str]:
    if not script.uses:
        yield "imports caffe"
    if script.problem:
        yield f"can't be read as Python: {script.problem}"
    for (line, by), uses in groupby(script.uses, key=lambda use: (use.line, use.by)):
        files = ", ".join(f"{use.role} {use.name}" for use in uses)
        yield f"{by} in line {line} with {files}"
    if script.missing:
        yield f"missing: {_listed(script.missing)}"
    if script.missing_modules:
        yield f"modules that aren't installed: {_listed(script.missing_modules)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _print_edits(adoption: Adoption) -> None:
    lines, files = sum(adoption.edits.values()), len(adoption.edits)
    click.echo(f"\n{adoption.patch} changes {counted(lines, 'line')} in {counted(files, 'file')}:")
    for name, count in adoption.edits.items():
        click.echo(f"  {name}: {counted(count, 'line')}")
    click.echo(f"Apply it with `patch -d {adoption.folder} -p1 < {adoption.patch}`.")
    if adoption.links:
        click.echo("For the paths in it, these links are enough:")
        for link in adoption.links:
            click.echo(f"  {link}")
    if adoption.linked_lists:
        click.echo(f"Only the links make the paths in these lists right: {', '.join(adoption.linked_lists)}")
