"""The interface of launchers, which start or find a run's workers, and descriptions of how a process ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import msgspec

from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.distributed.control.address import ControlAddress
from netdsl.storage.local_copies import allowing_addresses

if TYPE_CHECKING:
    from netdsl.distributed.control.place import NetworkPlace
    from netdsl.distributed.run import Run

_LAST = 3  # lines of a worker's log that messages quote
_TAIL = 8192  # bytes at the log's end in which the lines are searched


class WorkerSpec(msgspec.Struct, frozen=True):
    """The identity of one worker, the place of its run, and the address of its supervisor."""

    run: str  # the folder of the run
    folder: str  # the current folder in which training was started
    size: int  # the number of workers that are started
    control: ControlAddress
    beat: float = 1.0  # seconds between two heartbeats
    rank: int = 0  # its number, which stays the same when others leave or join
    lease: str = ""  # the key of the run's lease, if there is one; the worker writes nothing without it
    local_rank: int = 0  # its rank among the workers of its machine
    gpus: tuple[str, ...] = ()  # addresses of the GPUs that a resource manager assigned to the worker
    python: dict[
        str, str
    ] = {}  # allowed modules of Python layers, with folders; for workers that find the spec in no file
    plugins: dict[str, str] = {}  # modules that the user allowed as plug-ins, likewise
    ships: bool = False  # whether the supervisor sends the modules that aren't installed to workers that ask
    addresses: tuple[str, ...] = ()  # from which the run's data are copied on machines that have no copies

    @contextmanager
    def allowing(self) -> Iterator[None]:
        """Allow the user's modules, and the addresses of the run's data, in this process inside the context."""
        with (
            PYTHON_LAYERS.allowing(self.python),
            PLUGINS.allowing(self.plugins),
            allowing_addresses(self.addresses),
        ):
            yield

    def text(self) -> str:
        """Return the spec as a line of text."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of(cls, text: str) -> WorkerSpec:
        """Parse a spec from a line of text."""
        return msgspec.json.decode(text, type=cls)


class Workers:
    """The workers of one attempt, as their launcher sees them. This base class sees none of them."""

    sees_endings: ClassVar[bool] = False  # whether it can report how a worker ended, perhaps a moment later

    def hosts(self) -> Mapping[int, str]:
        """Return the hosts of workers, by rank, as far as the launcher knows them before workers connect."""
        return {}

    def endings(self) -> Mapping[int, str]:
        """Return how workers ended, by rank, as far as the launcher knows. Includes successful ends."""
        return {}

    def last_words(self, rank: int) -> str:
        """Return the last lines that a worker wrote, and their file. Returns an empty string if the launcher doesn't
        know them."""
        return ""

    def first_lost(self) -> int | None:
        """Return the rank of the lost worker that made the launcher end all others, if the launcher knows it."""
        return None

    def problem(self) -> str:
        """Return the problem that the launcher itself reports. Returns an empty string if there is none."""
        return ""

    def start_again(self, rank: int) -> bool:
        """End the rest of a lost worker and start it again while the others continue. Returns whether that is
        possible."""
        return False

    def close(self) -> None:
        """End the workers that are still running, and release their resources."""


class Launcher(Protocol):
    """Starts workers, or finds workers that another program has started."""

    name: ClassVar[str]
    restarts: ClassVar[bool]  # whether it can start workers again when one is lost
    regroups: ClassVar[bool]  # whether the remaining workers can continue when one is lost or joins
    place: NetworkPlace | None  # where workers reach the control server; unset if all are on this machine

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with settings that only the launcher knows, such as the transport.

        Calls `note` with notices for the user. Raises a `DistributedError` if the launcher can't work here.
        """
        ...

    def room(self, run: Run) -> int:
        """Return the number of workers to start now: the run's number, or as many as fit if the run is elastic."""
        ...

    def start(self, spec: WorkerSpec) -> Workers:
        """Start the workers of a run, each with its rank in the spec."""
        ...


def log_of(run: Path, rank: int) -> Path:
    """Return the path of a worker's log, in the folder of its run."""
    return run / "logs" / f"worker-{rank}.log"


def ending_of(code: int) -> str:
    """Return how a process with this exit code ended. Programs that start others report signals as 128 and more."""
    number = -code if code < 0 else code - 128
    if number in signal.valid_signals():
        return f"ended by {signal.Signals(number).name}"
    return f"ended with exit code {code}"


def last_words(log: Path, start: int = 0) -> str:
    """Return the last lines that a process wrote into its log after a position, and the path of the log."""
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - _TAIL))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    if not lines:
        return f"it wrote nothing to {log}"
    return f"the last lines of {log} are: {' | '.join(lines[-_LAST:])}"
