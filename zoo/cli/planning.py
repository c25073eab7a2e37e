"""Output of `zoo plan` and `zoo simulate`."""

from __future__ import annotations

from collections.abc import Sequence

from netdsl.planner.advice import headline
from zoo.cli.console import print_table
from zoo.cli.output import print_line
from zoo.planning import MadePlan
from zoo.requests.planning import FigureRequest, PlanningRequest, SimulateRequest
from zoo.simulating.estimate import SpeedupEstimate, estimate_table
from zoo.simulating.figures import DrawnFigure


def show_plan(made: MadePlan | None, request: PlanningRequest) -> None:
    """Print the plan, and the names of the written files."""
    if request.measure is not None:
        print_line(f"wrote {request.measure}; plan with these measurements with --device {request.measure}")
    if made is None:
        return
    for sentence in (headline(made.planning), "", *made.advice.sentences, *made.profile):
        print_line(sentence)
    print_table(made.rows, right=list(made.rows[0])[1:])
    if made.is_guessed:
        print_line("* assuming that it converges as averaging does, which no training has measured")
    if request.output is not None:
        print_line(f"wrote {request.output}; train with it: zoo train --plan {request.output} ...")
    if request.pictures is not None:
        print_line(f"wrote {request.pictures}/batches.png and {request.pictures}/speedups.png")


def show_estimate(estimate: SpeedupEstimate, request: SimulateRequest) -> None:
    """Print one machine and several workers for comparison."""
    _show_columns(estimate_table(estimate))
    if estimate.speedup is not None:
        print_line(f"{estimate.speedup:.2f} times as fast as one machine")


def show_figure(figure: DrawnFigure, request: FigureRequest) -> None:
    """Print the table of a figure."""
    _show_columns(figure.table)


def _show_columns(table: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        print_line("  ".join(cells).rstrip())
