"""The progress bar of commands that process many items."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, *, hidden: bool = False) -> Iterator[Callable[..., object]]:
    """A function that advances a bar by one item or more; without a terminal, or `hidden`, there is no bar."""
    if hidden or not sys.stderr.isatty():
        yield lambda items=1: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda items=1: progress.advance(task, items)
