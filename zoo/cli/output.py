"""What all commands print and end with: JSON, errors and warnings on one line, a progress bar, and exit codes."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

from zoo.requests.results import plain_value

if TYPE_CHECKING:
    from rich.progress import Progress

BYTES = "bytes"  # what a bar counts, if not items
BAR_DELAY = 2.0  # seconds until a bar is shown: what is done before needs none


class ExitCode(IntEnum):
    """How a command ended. 0 and 1 are answers, as those of diff and grep are; from 2 on there is none."""

    FINE = 0
    NO = 1  # files differ, a check fails, something is broken
    WRONG = 2  # a wrong call, a file or data that can't be read, a disk that is full
    MISTAKE = 70  # of zoo's own
    INTERRUPTED = 130  # by Ctrl-C
    READER_GONE = 141  # who read standard output, as `head` does
    TERMINATED = 143  # by SIGTERM


def print_json(value: Any) -> None:
    """Print what came of a command as JSON."""
    click.echo(json.dumps(plain_value(value), indent=2, allow_nan=False))


def print_bytes(data: bytes) -> None:
    """Write bytes to standard output, all of them: where Python doesn't buffer it, a single write may do a part."""
    if sys.stdout is not None:
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()


def stdout_is_terminal() -> bool:
    """Return whether somebody reads standard output on a terminal; it may be closed."""
    return sys.stdout is not None and sys.stdout.isatty()


def complain(problem: object) -> None:
    """Print an error or a warning to standard error."""
    click.echo("zoo: " + " ".join(str(problem).splitlines()), err=True)


def counted(number: int, word: str) -> str:
    """Return a number and what is counted, such as '1 image' and '2 images'."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@contextmanager
def progress_bar(total: float | None = None, doing: str = "", unit: str = "") -> Iterator[Callable[..., object]]:
    """A function that advances a bar by one item or more.

    The bar is on standard error, and only on a terminal. It comes after two seconds, with the time that is left or,
    where nobody knows how many items there are, the time that has passed; and it goes when the work is done.
    """
    if not can_show_bars():
        yield lambda items=1: None
        return
    progress = _progress_of(known=total is not None, unit=unit)
    task = progress.add_task(doing, total=total)
    timer = threading.Timer(BAR_DELAY, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda items=1: progress.advance(task, items)
    finally:
        timer.cancel()
        timer.join()
        if progress.live.is_started:
            progress.stop()


def can_show_bars() -> bool:
    """Return whether standard error is a terminal on which lines can be drawn again."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _progress_of(*, known: bool, unit: str) -> Progress:
    from rich import progress
    from rich.console import Console

    count = progress.DownloadColumn() if unit == BYTES else progress.MofNCompleteColumn()
    left = (count, progress.TimeRemainingColumn()) if known else (progress.TimeElapsedColumn(),)
    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        *left,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=stdout_is_terminal(),  # what goes to a file must not come here
    )
