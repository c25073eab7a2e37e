"""What transfers tell while they go on: a bar for each file, and notices on lines of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zoo.cli.output import complain

if TYPE_CHECKING:
    from rich.progress import TaskID

    from zoo.store.transfers import Listener, StoreNotice, TransferProgress


@contextmanager
def transfer_display() -> Iterator[Listener]:
    """A listener that prints notices and, on a terminal, shows how far files are."""
    from zoo.store.transfers import StoreNotice

    if not sys.stderr.isatty():
        yield lambda event: complain(event.text) if isinstance(event, StoreNotice) else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def listen(event: TransferProgress | StoreNotice) -> None:
            if isinstance(event, StoreNotice):
                progress.console.print(f"zoo: {event.text}", markup=False, highlight=False, soft_wrap=True)
                return
            if event.name not in tasks:
                tasks[event.name] = progress.add_task(event.name, total=event.total)
            progress.update(tasks[event.name], completed=event.received, total=event.total)

        yield listen
