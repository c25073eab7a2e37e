"""pycaffe's log functions, which use Python's logger `netdsl.pycaffe`."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("netdsl.pycaffe")


def init_log(level: int = 0, stderr: bool = False) -> None:
    """Set the lowest level to log (0 information, 1 warnings, 2 errors), and log to stderr if `stderr`."""
    _LOGGER.setLevel((level + 2) * 10)
    if stderr and not _LOGGER.handlers:
        _LOGGER.addHandler(logging.StreamHandler())


def log(text: str) -> None:
    """Log a line at the level of information."""
    _LOGGER.info("%s", text)
