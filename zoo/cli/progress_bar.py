"""The progress bar of commands that take longer than a moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY = 2.0  # seconds until a bar is shown: what is done before needs none


@contextmanager
def progress_bar(total: int | None = None, doing: str = "") -> Iterator[Callable[..., object]]:
    """A function that advances a bar by one item or more, and sets how many there are by `total=`.

    The bar is on standard error, and only on a terminal. It comes after two seconds, with the time that is left if it
    is known how many items there are, or else the time since the beginning; and it goes when the work is done.
    """
    if not sys.stderr.isatty():
        yield lambda items=1, total=None: None
        return
    progress = _progress()
    task = progress.add_task(doing, total=total)
    timer = threading.Timer(_DELAY, progress.start)
    timer.daemon = True
    timer.start()

    def advance(items: int = 1, total: int | None = None) -> None:
        progress.update(task, advance=items, total=total)

    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
