"""Faults inside a Python process, which the environment asks for: Python imports this module when it starts.

The process is killed at its n-th write, its files are slow, some folders can't be written to, or its clock jumps.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import sys
import time
from typing import Any

_SETTINGS = json.loads(os.environ.get("NETDSL_CHAOS_FAULTS", "{}"))  # see tests/chaos/faults/__init__.py
_CHANGES = ("os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.truncate")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def _written_path(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the path that an event writes to, if it writes."""
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, (str, bytes, os.PathLike)) and isinstance(flags, int) and flags & _WRITING:
            return _absolute(path)
    elif event in _CHANGES and isinstance(arguments[0], (str, bytes, os.PathLike)):
        return _absolute(arguments[0])
    return None


def _absolute(path: str | bytes | os.PathLike[str]) -> str:
    return os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - this follows no links, so it opens nothing itself


def _begins_with(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


class _Faults:
    """The audit hook, which sees each call that opens or changes a file before the call is made."""

    def __init__(self) -> None:
        self.writes = 0
        self._within: list[str] = _SETTINGS.get("within", [])
        self._read_only: list[str] = _SETTINGS.get("read_only", [])
        self._delay: float = _SETTINGS.get("delay", 0.0)
        first = os.getppid() == _SETTINGS.get("parent")  # the command itself, and none of its workers
        self._kill_at: int = _SETTINGS.get("kill_at", 0) if first else 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" and event not in _CHANGES:
            return
        path = _written_path(event, arguments)
        if path is None:
            return
        if _begins_with(path, self._read_only):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        if not _begins_with(path, self._within):
            return
        time.sleep(self._delay)
        self.writes += 1
        if self.writes == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def _let_clock_jump(seconds: float, within: float) -> None:
    """Let the clock of the day jump by some seconds, at a random moment within a time."""
    real, moment = time.time, time.monotonic() + random.Random().random() * within
    time.time = lambda: real() + (seconds if time.monotonic() > moment else 0.0)


if _SETTINGS:
    _faults = _Faults()
    sys.addaudithook(_faults)
    if "jump" in _SETTINGS:
        _let_clock_jump(_SETTINGS["jump"], _SETTINGS["jump_within"])
    if "count" in _SETTINGS and os.getppid() == _SETTINGS["parent"]:
        import atexit

        def _note_count() -> None:
            count, path = _faults.writes, _SETTINGS["count"]
            with open(path, "w") as file:  # noqa: PTH123 - the process ends
                file.write(str(count))

        atexit.register(_note_count)
