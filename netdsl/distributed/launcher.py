"""Launchers, which start a run's workers or find them: their interface, and how a process that they started ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import msgspec

from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.distributed.control.client import ControlAddress

if TYPE_CHECKING:
    from netdsl.distributed.run import Run

_LAST = 3  # lines of its log that a worker is remembered by
_TAIL = 8192  # bytes that they are looked for in


class WorkerSpec(msgspec.Struct, frozen=True):
    """One worker: which it is, where its run is, and how it reaches its supervisor."""

    run: str  # the folder of the run
    folder: str  # the current folder where training was begun
    size: int  # how many workers are started
    transport: str  # its name, of which only a plug-in may know what it is
    control: ControlAddress
    beat: float  # seconds between two heartbeats
    rank: int = 0  # its number, which it keeps when others leave or come
    local_rank: int = 0  # among the workers of its machine
    gpus: tuple[str, ...] = ()  # the addresses of those that a resource manager assigned to it
    python: dict[
        str, str
    ] = {}  # modules of Python layers that may run, with folders; heeded where no file brings the spec
    plugins: dict[str, str] = {}  # likewise those that the starter allowed to be imported as plug-ins

    @contextmanager
    def allowing(self) -> Iterator[None]:
        """Allow meanwhile what the user allowed who started the worker."""
        with PYTHON_LAYERS.allowing(self.python), PLUGINS.allowing(self.plugins):
            yield

    def text(self) -> str:
        """Return the spec as a line of text."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of(cls, text: str) -> WorkerSpec:
        """Return the spec that a line of text has."""
        return msgspec.json.decode(text, type=cls)


class Workers:
    """The workers of one attempt, as their launcher sees them; this one sees nothing of them."""

    sees_endings: ClassVar[bool] = False  # whether it will know how a worker ended, perhaps a moment later

    def endings(self) -> Mapping[int, str]:
        """Return how workers ended, by rank, as far as the launcher sees that; this includes good ends."""
        return {}

    def last_words(self, rank: int) -> str:
        """Return what a worker wrote last, and where; empty if the launcher doesn't know."""
        return ""

    def first_lost(self) -> int | None:
        """Return the worker with which the launcher ended all others, if it does so and knows."""
        return None

    def problem(self) -> str:
        """Return what the launcher itself says went wrong; empty if nothing did."""
        return ""

    def start_again(self, rank: int) -> bool:
        """End what is left of a lost worker, and start it again while the others go on; false if that can't be."""
        return False

    def close(self) -> None:
        """End those that still run, and let go of them."""


class Launcher(Protocol):
    """Starts workers, or finds those that something else has started."""

    name: ClassVar[str]
    restarts: ClassVar[bool]  # whether it can start workers again when one is lost
    regroups: ClassVar[bool]  # whether workers can go on when one is lost or comes
    host: str  # by which workers reach the control server
    bound: str  # which the control server listens at
    port: int  # 0 for any

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with what only the launcher knows, such as the transport; an error if it can't work here.

        `note` is told what a user should know.
        """
        ...

    def room(self, run: Run) -> int:
        """Return the number of workers to start now: that of the run, or as many as there is room for if it is
        elastic."""
        ...

    def start(self, spec: WorkerSpec) -> Workers:
        """Start the workers of a run, each with its rank in the spec."""
        ...


def log_of(run: Path, rank: int) -> Path:
    """Return the log of a worker, in the folder of its run."""
    return run / "logs" / f"worker-{rank}.log"


def ending_of(code: int) -> str:
    """Return how a process ended that has this exit code; programs that start others give 128 and more for signals."""
    number = -code if code < 0 else code - 128
    if number in signal.valid_signals():
        return f"ended by {signal.Signals(number).name}"
    return f"ended with exit code {code}"


def last_words(log: Path, start: int = 0) -> str:
    """Return the last lines that a process wrote into its log from a position on, and where the rest is."""
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - _TAIL))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    if not lines:
        return f"it wrote nothing to {log}"
    return f"its last lines in {log}: {' | '.join(lines[-_LAST:])}"
