"""`import caffe` for modules that scripts import: it finds this package where no Caffe is installed."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

_PACKAGE = "netdsl.pycaffe"
_PARTS = (
    "_caffe",
    "classifier",
    "coord_map",
    "detector",
    "draw",
    "io",
    "net_spec",
    "proto",
    "proto.caffe_pb2",
    "pycaffe",
)  # Caffe's own modules


def install() -> None:
    """Let `import caffe`, `import caffe.io` and so on find this package and its modules."""
    if "caffe" in sys.modules or find_spec("caffe") is not None:
        return
    for part in _PARTS:
        sys.modules[f"caffe.{part}"] = import_module(f"{_PACKAGE}.{part}")
    sys.modules["caffe"] = sys.modules[_PACKAGE]
