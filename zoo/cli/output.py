"""Output that all commands share: JSON, one-line errors and warnings, a progress bar, and exit codes."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from caffe_proto.shown_text import LONGEST_MESSAGE, LONGEST_NAME, shown
from zoo.requests.results import plain_value

if TYPE_CHECKING:
    from rich.progress import Progress

BYTES = "bytes"  # the unit of the bar, if not items
BAR_DELAY = 0.5  # seconds before the bar appears; shorter work shows none
LINE_DELAY = 1.0  # seconds before a line appears if no terminal can show a bar
_LAYOUT = "\n\t"  # the control characters that a text of several lines may contain
_LONGEST_USAGE = 2 * LONGEST_MESSAGE  # characters of an error in a call, which may list many names
_LINES = "NETDSL_PROGRESS"  # the environment variable that turns such lines off


class ExitCode(IntEnum):
    """The exit code of a command. 0 and 1 are answers, as for diff and grep. From 2 on, the command has failed."""

    FINE = 0
    NO = 1  # files differ, a check fails, a model is damaged
    WRONG = 2  # a wrong call, a file or data that can't be read, a full disk
    MISTAKE = 70  # a bug in zoo
    INTERRUPTED = 130  # Ctrl-C
    READER_GONE = 141  # the reader of standard output has ended, such as `head`
    TERMINATED = 143  # SIGTERM


class StyledText(NamedTuple):
    """A text with a color, or in bold, on terminals."""

    text: str
    color: str | None = None
    bold: bool = False


def print_line(*parts: str | StyledText, err: bool = False) -> None:
    """Print a line to standard output, or with `err` to standard error.

    Characters that a terminal obeys or that can't be seen are escaped, so that text from a file can neither change
    colors nor begin another line.
    """
    styled = (
        click.style(shown(_with_addresses(part.text)), fg=part.color, bold=part.bold or None)
        if isinstance(part, StyledText)
        else shown(_with_addresses(part))
        for part in parts
    )
    click.echo("".join(styled), err=err)


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, which ends with its own line break. It is escaped as in `print_line`."""
    click.echo(shown(_with_addresses(text), keep=_LAYOUT), nl=False, err=err)


def _with_addresses(text: str) -> str:
    """Return a text in which addresses replace the paths of their local copies."""
    copies = sys.modules.get("netdsl.storage.local_copies")
    return text if copies is None else str(copies.with_addresses(text))


def open_closed_streams() -> None:
    """Open the null device in place of closed standard streams. A file, a socket or a child's stream that gets their
    descriptors would otherwise be read or written by anything that uses a standard stream."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            handle = os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor, and lower ones are open
            os.set_inheritable(handle, True)
            setattr(sys, name, open(handle, "w" if number else "r", closefd=False))  # noqa: SIM115  # until the end


def print_json(value: Any) -> None:
    """Print the result of a command as JSON."""
    print_text(json.dumps(plain_value(value), indent=2, allow_nan=False).replace("\x7f", "\\u007f") + "\n")


def print_bytes(data: bytes) -> None:
    """Write all bytes to standard output, or print them as text if it is a terminal.

    Without Python's buffer, a single write may write only a part.
    """
    if stdout_is_terminal():
        print_text(data.decode("utf-8", "surrogateescape"))
    elif sys.stdout is not None:
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()


def stdout_is_terminal() -> bool:
    """Return whether standard output is a terminal. It may also be closed."""
    return sys.stdout is not None and sys.stdout.isatty()


def complain(problem: object) -> None:
    """Print an error or a warning to standard error, on one line. A very long one loses its middle."""
    print_line(f"zoo: {shown(' '.join(str(problem).splitlines()), LONGEST_MESSAGE)}", err=True)


def print_usage_error(problem: click.ClickException) -> None:
    """Print an error in a call as click does."""
    text = StringIO()
    problem.show(text)
    print_text(shown(text.getvalue(), _LONGEST_USAGE, keep=_LAYOUT), err=True)


def counted(number: int, word: str) -> str:
    """Return a number with its noun, such as '1 image' and '2 images'."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@contextmanager
def progress_bar(
    total: float | None = None, doing: str = "", unit: str = "", *, at_once: bool = False
) -> Iterator[Callable[..., object]]:
    """Yield a function that advances a bar by one item or more.

    The bar is on standard error, and only on a terminal. It appears after half a second, or `at_once`, and is removed
    when the work is done. It shows the remaining time or, if the number of items is unknown, the elapsed time. If no
    terminal can show it, a line that names the work appears after a second.
    """
    if not can_show_bars():
        with _after(LINE_DELAY, lambda: complain(f"{doing} ...")) if doing and shows_lines() else nullcontext():
            yield lambda items=1: None
        return
    progress = _progress_of(known=total is not None, unit=unit)
    task = progress.add_task(shown(doing, LONGEST_NAME), total=total)
    try:
        with _after(0 if at_once else BAR_DELAY, progress.start):
            yield lambda items=1: progress.advance(task, items)
    finally:
        if progress.live.is_started:
            progress.stop()


@contextmanager
def _after(delay: float, act: Callable[[], object]) -> Iterator[None]:
    """Call a function after some seconds, unless the block has ended by then."""
    if not delay:
        act()
        yield
        return
    timer = threading.Timer(delay, act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def shows_lines() -> bool:
    """Return whether lines report progress where no terminal can show a bar."""
    return os.environ.get(_LINES) != "no"


def can_show_bars() -> bool:
    """Return whether standard error is a terminal on which lines can be redrawn."""
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
        redirect_stdout=stdout_is_terminal(),  # keeps output that goes to a file out of the terminal
    )
