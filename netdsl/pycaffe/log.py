"""pycaffe's log, over Python's own: the logger `netdsl.pycaffe`."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("netdsl.pycaffe")


def init_log(level: int = 0, stderr: bool = False) -> None:
    """Let through what is at least this serious: 0 information, 1 warnings, 2 errors; and show it if `stderr`."""
    _LOGGER.setLevel((level + 2) * 10)
    if stderr and not _LOGGER.handlers:
        _LOGGER.addHandler(logging.StreamHandler())


def log(text: str) -> None:
    """Write a line of information."""
    _LOGGER.info("%s", text)
