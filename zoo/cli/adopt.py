"""Output of `zoo adopt`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from zoo.adopting.adopt import AdoptedScript, AdoptedSolver, Adoption
from zoo.cli.output import counted, print_line
from zoo.requests.adopting import AdoptRequest


def show_adoption(adoption: Adoption, request: AdoptRequest) -> None:
    """Print what the project contains, the verdicts on its solvers, and what to do."""
    contents = [counted(count, kind) for kind, count in adoption.contents.items() if count]
    print_line(f"{adoption.folder}: {', '.join(contents) or 'no file of Caffe'}")
    for reason in adoption.unreadable:
        print_line(f"  can't be read: {reason}")
    for solver in adoption.solvers:
        _print_lines(f"solver {solver.solver}", _lines_about_solver(solver))
    if adoption.scripts:
        print_line()
    for script in adoption.scripts:
        print_line(f"script {script.script}: {'; '.join(_facts_about_script(script))}")
    if adoption.patch:
        _print_edits(adoption)
    if adoption.scripts:
        print_line()
        print_line("To run the scripts unchanged:")
        if request.caffe_folder is None:
            print_line(f"  zoo adopt {adoption.folder} --caffe-folder ~/caffe")
        for command in adoption.caffe:
            print_line(f"  {command}")
    for title, good in (("To train:", True), ("To train, when the missing parts are there:", False)):
        commands = [solver.command for solver in adoption.solvers if solver.good is good]
        if commands:
            _print_lines(title, commands)


def _print_lines(title: str, lines: Iterable[str]) -> None:
    print_line()
    print_line(title)
    for line in lines:
        print_line(f"  {line}")


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
    print_line()
    print_line(f"{adoption.patch} changes {counted(lines, 'line')} in {counted(files, 'file')}:")
    for name, count in adoption.edits.items():
        print_line(f"  {name}: {counted(count, 'line')}")
    print_line(f"Apply it with `patch -d {adoption.folder} -p1 < {adoption.patch}`.")
    if adoption.links:
        print_line("For the paths in it, these links are enough:")
        for link in adoption.links:
            print_line(f"  {link}")
    if adoption.linked_lists:
        print_line(f"Only the links make the paths in these lists right: {', '.join(adoption.linked_lists)}")
