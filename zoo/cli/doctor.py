"""Output of `zoo doctor`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from textwrap import wrap

from zoo.cli.output import StyledText, print_line, stdout_is_terminal
from zoo.doctor.results import CheckResult, Diagnosis, Verdict
from zoo.requests.machine import DoctorRequest

_COLORS = {Verdict.GOOD: "green", Verdict.MISSING: None, Verdict.LIMITED: "yellow", Verdict.WRONG: "red"}
_FILE_WIDTH = 200
_LEAST_WIDTH = 20  # minimum width of a sentence, even on a narrow terminal


_Line = tuple[str | StyledText, ...]


def show_diagnosis(diagnosis: Diagnosis | None, request: DoctorRequest) -> None:
    """Print the state of each part, and advice."""
    if diagnosis is None:
        return
    good = "All machines can train together." if request.cluster else "Everything that is installed works."
    for line in _report_lines(diagnosis.checks, good):
        print_line(*line)


def _report_lines(results: Sequence[CheckResult], good: str) -> Iterator[_Line]:
    width = shutil.get_terminal_size().columns if stdout_is_terminal() else _FILE_WIDTH
    part_width = max(len(result.part) for result in results)
    group = ""
    for result in results:
        if result.group != group:
            group = result.group
            yield (StyledText(group, bold=True),)
        yield from _part_lines(result, part_width, width)
    wrong = [result.part for result in results if result.verdict is Verdict.WRONG]
    yield (f"wrong: {', '.join(wrong)}" if wrong else good,)


def _part_lines(result: CheckResult, part_width: int, width: int) -> Iterator[_Line]:
    """Yield the lines about a part: its state, its details, and advice."""
    label = f"{result.verdict.value:7}  {result.part:{part_width}}  "
    room = max(width - len(label) - 2, _LEAST_WIDTH)
    first, *others = wrap(result.fact, room) or [""]
    yield "  ", StyledText(f"{result.verdict.value:7}", _COLORS[result.verdict]), f"{label[7:]}{first}"
    indent = " " * (len(label) + 2)
    for line in [*others, *wrap(f"-> {result.advice}" if result.advice else "", room)]:
        yield (f"{indent}{line}",)
