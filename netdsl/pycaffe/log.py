"""pycaffe's log: lines in glog's format on standard error, or what handlers of Python's logger make of them."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress

from netdsl.solver.caffe_log import glog_line

_LOGGER = logging.getLogger("netdsl.pycaffe")
_LEVELS = {"I": logging.INFO, "W": logging.WARNING, "E": logging.ERROR}


def init_log(level: int = 0, stderr: bool = False) -> None:
    """Set the lowest level to log: 0 information, 1 warnings, 2 errors, 3 nothing.

    Where a program handles messages of Python's logger `netdsl.pycaffe`, they go there; with `stderr` to standard error
    as well. Elsewhere they go to standard error in any case, since there are no log files as Caffe has them.
    """
    global _also_stderr
    _LOGGER.setLevel((level + 2) * 10)
    _also_stderr = stderr


def log(text: str) -> None:
    """Log a line at the level of information."""
    write("I", "_caffe.cpp:84", text)


def write(severity: str, where: str, text: str) -> None:
    """Log a line, which Caffe's source writes at `where`."""
    level, handled = _LEVELS[severity], _LOGGER.hasHandlers()
    if not _LOGGER.isEnabledFor(level):
        return
    if handled:
        _LOGGER.log(level, "%s", text)
    if _also_stderr or not handled:
        sys.stderr.write(f"{glog_line(severity, where, text)}\n")


_also_stderr = False
init_log()
with suppress(ValueError):
    init_log(int(os.environ.get("GLOG_minloglevel", "")))  # noqa: SIM112 - glog's name, by which scripts silence Caffe
