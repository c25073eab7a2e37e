"""How commands that go through many items show how far they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(total: int) -> Iterator[Callable[..., object]]:
    """A bar that goes on by one or more with each call, if somebody sees it."""
    if not sys.stderr.isatty():
        yield lambda items=1: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda items=1: progress.advance(task, items)
