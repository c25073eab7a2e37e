"""The progress bar of commands that take longer than a moment."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zoo.cli.output import stdout_is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 2.0  # seconds until a bar is shown: what is done before needs none


@contextmanager
def progress_bar(
    total: float | None = None, doing: str = "", *, hidden: bool = False
) -> Iterator[Callable[..., object]]:
    """A function that advances a bar by one item or more.

    The bar is on standard error, and only on a terminal. It comes after two seconds, with the time that is left or,
    where nobody knows how many items there are, the time that has passed; and it goes when the work is done.
    """
    if hidden or not can_show_bars():
        yield lambda items=1: None
        return
    progress = _progress(known=total is not None)
    task = progress.add_task(doing, total=total)
    timer = threading.Timer(DELAY, progress.start)
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
    """Whether standard error is a terminal on which lines can be drawn anew."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _progress(*, known: bool) -> Progress:
    from rich import progress
    from rich.console import Console

    left = (progress.MofNCompleteColumn(), progress.TimeRemainingColumn()) if known else (progress.TimeElapsedColumn(),)
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *left,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=stdout_is_terminal(),  # what goes to a file must not come here
    )
