"""How a process ended, and what it wrote last, in words."""

from __future__ import annotations

import os
import signal
from pathlib import Path

_LAST = 3  # lines of its log that a worker is remembered by
_TAIL = 8192  # bytes that they are looked for in


def log_of(run: Path, rank: int) -> Path:
    """The log of a worker, in the folder of its run."""
    return run / "logs" / f"worker-{rank}.log"


def ending_of(code: int) -> str:
    """How a process ended that has this exit code; programs that start others give 128 and more for signals."""
    number = -code if code < 0 else code - 128
    if number in signal.valid_signals():
        return f"ended by {signal.Signals(number).name}"
    return f"ended with exit code {code}"


def last_words(log: Path, start: int = 0) -> str:
    """The last lines that a process wrote into its log from a position on, and where the rest is."""
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - _TAIL))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    if not lines:
        return f"it wrote nothing to {log}"
    return f"its last lines in {log}: {' | '.join(lines[-_LAST:])}"
