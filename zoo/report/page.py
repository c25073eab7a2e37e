"""Self-contained HTML pages: they load nothing and run nothing, and all text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra
from caffe_proto.storage import create_folder, write_pieces
from netdsl.charts import number
from netdsl.distributed.run_log import Activity
from zoo.logs.plots import COLORS
from zoo.report.comparison import comparison_of
from zoo.report.contents import ITEMS, contents_of
from zoo.report.facts import duration
from zoo.report.pictures import data_uri
from zoo.report.recorded_run import RecordedRun

_TEMPLATES = Path(__file__).with_name("templates")

REPORT, COMPARISON = "report.html", "comparison.html"
_SUFFIXES = (".html", ".htm")


def render(template: str, **values: Any) -> str:
    """Return the page from a template and its values."""
    text: str = _template_library().get_template(template).render(values)
    return text


@cache
def _template_library() -> Any:
    library = import_extra("jinja2", "logs", "the page of a report needs Jinja2")
    environment = library.Environment(
        loader=library.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=library.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, uri=data_uri, duration=duration, percent=_percent)
    environment.globals.update(colors={activity: COLORS[activity] for activity in Activity})
    return environment


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def page_path(runs: Sequence[Path], output: str | None) -> Path:
    """Return the path of a page: the named file, or the usual name in the named folder. The default folder is the
    run's, or the current folder for several runs."""
    name = REPORT if len(runs) == 1 else COMPARISON
    if output is None:
        return runs[0] / name if len(runs) == 1 else Path(name)
    path = Path(output)
    return path if path.suffix.lower() in _SUFFIXES else path / name


def write_report(recorded: RecordedRun, path: Path, items: int = ITEMS) -> None:
    """Write the report of a run."""
    _write_page(render("report.html", page=contents_of(recorded, items)), path)


def write_comparison(runs: Sequence[RecordedRun], path: Path) -> None:
    """Write a page that compares runs."""
    _write_page(render("comparison.html", page=comparison_of(runs)), path)


def _write_page(text: str, path: Path) -> None:
    create_folder(path.parent)
    write_pieces(path, [text.encode("utf-8", "replace")])
