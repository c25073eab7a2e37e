"""Writing the page of a run's report, or of a comparison of runs, to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from zoo.report.comparison import comparison_of
from zoo.report.contents import ITEMS, contents_of
from zoo.report.page import render
from zoo.report.recorded_run import RecordedRun

REPORT, COMPARISON = "report.html", "comparison.html"

_SUFFIXES = (".html", ".htm")


def page_path(runs: Sequence[Path], output: str | None) -> Path:
    """Where a page goes: a file, or its usual name in a folder; by default in the run's, or here for several runs."""
    name = REPORT if len(runs) == 1 else COMPARISON
    if output is None:
        return runs[0] / name if len(runs) == 1 else Path(name)
    path = Path(output)
    return path if path.suffix.lower() in _SUFFIXES else path / name


def write_report(recorded: RecordedRun, path: Path, items: int = ITEMS) -> None:
    """Write the report of a run."""
    _write(render("report.html", page=contents_of(recorded, items)), path)


def write_comparison(runs: Sequence[RecordedRun], path: Path) -> None:
    """Write a page that compares runs."""
    _write(render("comparison.html", page=comparison_of(runs)), path)


def _write(text: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{path.parent}: can't be created: {problem.strerror}") from None
    write_pieces(path, [text.encode("utf-8", "replace")])
