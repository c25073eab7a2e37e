"""`zoo doctor`: what is installed here, what works, and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap

import click

from zoo.cli import options
from zoo.cli.output import ExitCode, print_json, progress_bar, stdout_is_terminal
from zoo.doctor.examination import Examination
from zoo.doctor.results import CheckResult, Verdict, is_healthy

_COLORS = {Verdict.GOOD: "green", Verdict.MISSING: None, Verdict.LIMITED: "yellow", Verdict.WRONG: "red"}
_FILE_WIDTH = 200
_LEAST_WIDTH = 20  # of a sentence, however narrow the terminal


@click.command("doctor", short_help="Tell what is installed here, what works, and what to do.")
@options.as_json
def command(as_json: bool) -> None:
    """Tell what is installed here, what works, and what to do: netdsl and what it needs, devices, Java with Spark, MPI,
    memory, disks and limits, each extra, and plug-ins. Every package is imported, a small net is trained, and MPI
    starts two ranks, all in processes of their own.

    A part is good; missing, which is fine where it isn't needed; limited, if it works but slowly or not for much; or
    wrong, if it is there and doesn't work. The exit code is 1 if something is wrong.
    """
    examination = Examination()
    with progress_bar(len(examination.requests), "examining") as advance:
        results = examination.run(advance)
    if as_json:
        checks = [{**asdict(result), "verdict": result.verdict.value} for result in results]
        print_json({"healthy": is_healthy(results), "checks": checks})
    else:
        for line in _report_lines(results):
            click.echo(line)
    if not is_healthy(results):
        raise click.exceptions.Exit(ExitCode.NO)


def _report_lines(results: Sequence[CheckResult]) -> Iterator[str]:
    width = shutil.get_terminal_size().columns if stdout_is_terminal() else _FILE_WIDTH
    part_width = max(len(result.part) for result in results)
    group = ""
    for result in results:
        if result.group != group:
            group = result.group
            yield click.style(group, bold=True)
        yield from _part_lines(result, part_width, width)
    wrong = [result.part for result in results if result.verdict is Verdict.WRONG]
    yield f"wrong: {', '.join(wrong)}" if wrong else "Everything that is installed works."


def _part_lines(result: CheckResult, part_width: int, width: int) -> Iterator[str]:
    """A part's lines: how it is, what there is, and what to do."""
    label = f"{result.verdict.value:7}  {result.part:{part_width}}  "
    room = max(width - len(label) - 2, _LEAST_WIDTH)
    first, *others = wrap(result.fact, room) or [""]
    verdict = click.style(f"{result.verdict.value:7}", fg=_COLORS[result.verdict])
    yield f"  {verdict}{label[7:]}{first}"
    indent = " " * (len(label) + 2)
    for line in [*others, *wrap(f"-> {result.advice}" if result.advice else "", room)]:
        yield f"{indent}{line}"
