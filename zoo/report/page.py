"""Pages of HTML that are whole by themselves: nothing is loaded, nothing is run, and all text is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra
from netdsl.distributed.run_log import Activity
from zoo.logs.drawing import COLOURS
from zoo.report.charts import number
from zoo.report.facts import duration
from zoo.report.pixels import data_uri

_TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: Any) -> str:
    """The page that a template makes of values."""
    text: str = _environment().get_template(template).render(values)
    return text


@cache
def _environment() -> Any:
    library = import_extra("jinja2", "logs", "the page of a report needs Jinja2")
    environment = library.Environment(
        loader=library.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=library.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, uri=data_uri, duration=duration, percent=_percent)
    environment.globals.update(colours={activity: COLOURS[activity] for activity in Activity})
    return environment


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
