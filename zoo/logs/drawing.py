"""Access to matplotlib, which is imported only here, and the colours of activities."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from caffe_proto.extras import import_extra
from caffe_proto.storage import atomic_path
from netdsl.distributed.record import Activity

COLOURS: Mapping[Activity, str] = {
    Activity.COMPUTE: "#4f9d69",
    Activity.WAIT: "#c9c9c9",
    Activity.EXCHANGE: "#e07a3f",
    Activity.TEST: "#8a6fc4",
    Activity.SAVE: "#8c6d4f",
    Activity.BROADCAST: "#2f6fb3",
    Activity.REDUCE: "#c0392b",
    Activity.PREPARE: "#d9a520",
}


def pyplot() -> Any:
    """Matplotlib's pyplot, which draws into files; a MissingExtraError if it isn't installed."""
    import_extra("matplotlib", "logs", "plots need matplotlib").use("Agg")
    return import_module("matplotlib.pyplot")


def save(figure: Any, path: str | Path) -> None:
    """Write a figure as a PNG and close it."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    pyplot().close(figure)
