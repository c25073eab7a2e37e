"""The display of a running command: a progress bar, the data and weights of nets, and notices."""

from __future__ import annotations

import time
from contextlib import ExitStack

from caffe_proto.errors import few
from netdsl.solver.events import DataOpened, Notice, WeightsLoaded
from zoo.cli.output import BYTES, can_show_bars, complain, counted, print_line, progress_bar, shows_lines
from zoo.requests.events import WorkDone, WorkEnded, WorkStarted
from zoo.requests.request import Request
from zoo.store.transfers import TransferProgress

_LINE_PAUSE = 10.0  # seconds between lines about progress where no terminal can show a bar
_SHOWN = 10  # maximum number of classes in a line


class Display:
    """A listener that shows progress and prints notices.

    The bar shows `doing` while no other work is reported. A `quiet` display shows only warnings. With `err`, all output
    goes to standard error.
    """

    def __init__(self, request: Request, doing: str, *, quiet: bool, err: bool) -> None:
        self.quiet, self._err, self._doing = quiet, err, doing
        self._bar = ExitStack()
        self.show_bar(WorkStarted(doing))

    def __call__(self, event: object) -> object:
        """Show an event. If the event is a question, return the answer."""
        match event:
            case WorkStarted():
                self.show_bar(event)
            case WorkDone(items):
                self._advance(items)
            case WorkEnded():
                self.show_bar(WorkStarted(self._doing))
            case TransferProgress(name, received, total):
                if name != self._work.doing:
                    self.show_bar(WorkStarted(name, total, BYTES))
                self._advance(received - self._done)
            case Notice():
                complain(event.text)
            case _:
                self.tell(event)
        return None

    def tell(self, event: object) -> None:
        """Print which data and weights a net has got."""
        match event:
            case DataOpened() if not self.quiet:
                print_line(data_line(event), err=self._err)
            case WeightsLoaded() if not self.quiet:
                print_line(weights_line(event), err=self._err)

    def show_bar(self, work: WorkStarted) -> None:
        """Show a bar for work in place of the last one."""
        self.hide_bar()
        self._work, self._done, self._told_at = work, 0.0, time.monotonic()
        if not self.quiet:
            bar = progress_bar(work.total, work.doing or self._doing, work.unit)
            self._move_bar = self._bar.enter_context(bar)

    def hide_bar(self) -> None:
        """Remove the bar from the terminal."""
        self._bar.close()

    def _advance(self, items: float) -> None:
        before, self._done = self._done, self._done + items
        if self.quiet:
            return
        self._move_bar(items)
        work, now = self._work, time.monotonic()
        if not work.total or can_show_bars():
            return
        tenths = [int(10 * done / work.total) for done in (before, self._done)]
        is_long = work.unit not in ("", BYTES) and (before == 0 or tenths[0] < tenths[1])
        if is_long or (shows_lines() and now - self._told_at > _LINE_PAUSE):
            self._told_at = now
            share = f"{self._done / work.total:.0%}" if work.unit == BYTES else self._words_done()
            print_line(f"{work.doing or self._doing}: {share} done", err=True)

    def _words_done(self) -> str:
        return " ".join(filter(None, (f"{self._done:g} of {self._work.total:g}", self._work.unit)))

    def close(self) -> None:
        """Restore the terminal."""
        self.hide_bar()


def data_line(data: DataOpened) -> str:
    """Return a line about a net's data."""
    count = len(data.classes)
    kind = f"a vocabulary of {count}" if data.vocabulary else f"{count} class{'' if count == 1 else 'es'}"
    names = f", {kind} ({few(data.classes, _SHOWN)})" if count else ""
    return f"{'tests' if data.tests else 'trains'} on {data.source}: {counted(data.items, 'item')}{names}"


def weights_line(loaded: WeightsLoaded) -> str:
    """Return a line about a net's weights."""
    return f"weights {', '.join(map(str, loaded.paths))}: {loaded.report}"
