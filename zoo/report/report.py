"""The report of `zoo report`: summaries of runs, and their page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto.errors import CaffeError
from netdsl.solver.events import Notice
from zoo.logs.summary import RunSummary
from zoo.report.facts import PlannedFigure, planned_figures
from zoo.report.page import page_path, write_comparison, write_report
from zoo.report.recorded_run import read_run
from zoo.requests.events import Listen
from zoo.requests.request import answers
from zoo.requests.results import MERGED, OneOrMore
from zoo.requests.training import ReportRequest


@dataclass(frozen=True)
class ReportedRun:
    """A run and its summary."""

    run: str
    summary: RunSummary = field(metadata=MERGED)
    planned: list[PlannedFigure]  # empty without a plan


@dataclass(frozen=True)
class RunReports:
    """The summaries of runs, the path of their page, and the reason if there is no page."""

    runs: OneOrMore[ReportedRun]
    page: Path
    failed: tuple[str, ...]

    def plain(self) -> OneOrMore[ReportedRun]:
        """Return the runs, or the one run."""
        return self.runs


@answers(ReportRequest)
def report(request: ReportRequest, listen: Listen) -> RunReports:
    """Read runs and write a page about them. The summaries are returned even if no page can be written."""
    folders = [Path(run) for run in request.runs]
    recorded = [read_run(folder) for folder in folders]
    for note in (note for run in recorded for note in run.notes):
        listen(Notice(note))
    page, failed = page_path(folders, request.output), tuple[str, ...]()
    try:
        if len(recorded) == 1:
            write_report(recorded[0], page, request.items)
        else:
            write_comparison(recorded, page)
    except CaffeError as problem:
        listen(Notice(str(problem)))
        failed = (str(problem),)
    runs = zip(request.runs, recorded, strict=True)
    return RunReports(
        OneOrMore(ReportedRun(name, run.summary, planned_figures(run)) for name, run in runs), page, failed
    )
