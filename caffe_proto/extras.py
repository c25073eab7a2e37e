"""Optional packages, which are imported only where a task needs one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from caffe_proto.errors import MissingExtraError


def import_extra(module: str, extra: str, need: str) -> Any:
    """A module of an optional package; if it isn't installed, a MissingExtraError with the need and what to install."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(f"{need}: pip install 'netdsl[{extra}]'") from None
