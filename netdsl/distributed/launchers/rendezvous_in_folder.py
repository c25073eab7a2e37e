"""The rendezvous of workers in a run's folder, which all of them see.

The first worker publishes in it where the others reach the supervisor, or why it failed.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Event, Thread
from typing import Self

import msgspec

from caffe_proto.errors import CaffeError
from caffe_proto.storage import PRIVATE, atomic_path, create_folder
from netdsl.distributed.control.heartbeat import START
from netdsl.distributed.control.identity import SECRET
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.rendezvous import Rendezvous, first_failed, reached, reason_of, unreachable
from netdsl.distributed.run_lease import LeaseWatcher, held_lease
from netdsl.errors import DistributedError
from netdsl.ranks import job_in

_FILE = "control.json"  # in the run's folder; contains a secret, so only the user may read it
_FILE_OF_OTHER = "control-{}.json"  # with the reason for which another worker can't take part
_NAP = 0.1  # seconds between two looks at the first worker's file
_START_TIME = 19  # the field of /proc/self/stat behind the name, in ticks since the machine was started
_BEAT = 1.0  # seconds between two signs that the first worker is alive
_REACH = 30.0  # seconds for which a worker tries to reach a first worker that is alive
_LEFTOVER = 30.0  # seconds for a first worker to remove what an earlier start of the same job has left


class Published(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker publishes for the others: the spec with the supervisor's address, or the reason of its failure."""

    host: str
    job: str
    spec: WorkerSpec | None = None
    reason: str = ""

    @classmethod
    def of(cls, spec: WorkerSpec) -> Self:
        """Return what this process publishes when its supervisor listens."""
        return cls(socket.gethostname(), job_in(os.environ), spec)

    @classmethod
    def failure(cls, reason: str) -> Self:
        """Return what this process publishes when it fails."""
        return cls(socket.gethostname(), job_in(os.environ), reason=reason)

    def write(self, file: Path) -> None:
        """Write it to a file that only this user may read."""
        with atomic_path(file, mode=0o600) as temporary:
            temporary.write_bytes(msgspec.json.encode(self))


class FolderRendezvous(Rendezvous):
    """The rendezvous in a folder, in which the first worker also shows that it is alive."""

    def __init__(self, folder: Path, place: NetworkPlace | None = None) -> None:
        super().__init__(place)
        self._folder, self._file = folder, folder / _FILE
        self._looked, self._ended = 0.0, Event()

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Publish the reason if the context fails. Removes the reason of an earlier failure.

        If another process holds the run now, what it has published stays.
        """
        with suppress(OSError):
            if self._is_replaceable():
                self._file.unlink(missing_ok=True)
        try:
            yield
        except BaseException as problem:
            with suppress(OSError, CaffeError):
                create_folder(self._folder, PRIVATE)
                if self._is_replaceable():
                    Published.failure(reason_of(problem)).write(self._file)
            raise

    def publish(self, spec: WorkerSpec) -> None:
        """Publish the spec, and show regularly from now on that this process is alive."""
        self._looked = time.monotonic()
        for leftover in self._folder.glob(_FILE_OF_OTHER.format("*")):
            leftover.unlink(missing_ok=True)
        Published.of(spec).write(self._file)
        Thread(target=self._show_life, name="published spec", daemon=True).start()

    def problems(self, size: int) -> Mapping[int, str]:
        """Return how workers ended that can't reach the supervisor. Looks for them from time to time."""
        found = dict[int, str]()
        if time.monotonic() - self._looked > _BEAT:
            self._looked = time.monotonic()
            for rank in range(1, size):
                with suppress(OSError, msgspec.MsgspecError):
                    other = _read(self._folder / _FILE_OF_OTHER.format(rank))[0]
                    found[rank] = f"on {other.host} ended: {other.reason}"
        return found

    def close(self) -> None:
        """Remove what was published."""
        self._ended.set()
        self._file.unlink(missing_ok=True)

    def _show_life(self) -> None:
        """Change the file's time regularly, so that others know that this process is alive."""
        while not self._ended.wait(_BEAT):
            with suppress(OSError):
                os.utime(self._file)

    def await_spec(self, rank: int) -> WorkerSpec:
        """Return the spec that the first worker publishes, with the address at which this worker reaches it.

        Raises a `DistributedError` if the first worker has failed, or can't be reached although it is alive. What a
        killed one has left is ignored: its time doesn't change.
        """
        begun, leftover, unreachable_since = time.monotonic(), _state_of(self._file), 0.0
        lease = LeaseWatcher(self._folder)
        while (now := time.monotonic()) - begun < START:
            time.sleep(_NAP)
            if lost := lease.lost_holder():
                raise DistributedError(
                    f"{self._folder}: the first worker, {lost}, ended without a reason before this worker reached it; "
                    "read its output, and start all workers again"
                )
            try:
                published, state = _read(self._file)
            except (OSError, msgspec.MsgspecError):
                leftover, unreachable_since = None, 0.0
                continue
            is_alive = state != leftover
            if published.spec is None:
                is_recent = is_alive or now - begun > _LEFTOVER or _is_younger_than_process(self._file)
                if published.job == job_in(os.environ) and is_recent:
                    raise first_failed(published.host, published.reason)
                continue
            try:
                return reached(published.spec)
            except OSError as problem:
                unreachable_since = (unreachable_since or now) if is_alive else 0.0
                if is_alive and time.monotonic() - unreachable_since > _REACH:
                    here = socket.gethostname()
                    reason = f"the first worker, on {published.host}, can't be reached from {here}: {problem}"
                    with suppress(OSError):
                        Published.failure(reason).write(self._folder / _FILE_OF_OTHER.format(rank))
                    raise unreachable(reason) from None
        raise DistributedError(
            f"{self._folder}: the first worker didn't start the run within {START:g} s; read its output for the "
            "reason, and check that this folder is the one that it uses, on storage that all machines share, "
            f"or set {SECRET}"
        )

    def _is_replaceable(self) -> bool:
        """Return whether no other process may still need the file, which a killed one can have left too."""
        with suppress(OSError, msgspec.MsgspecError):
            return held_lease(self._folder.resolve()) is not None or _read(self._file)[0].spec is None
        return True


def _read(file: Path) -> tuple[Published, tuple[int, int]]:
    """Return what a worker has published, and the state of the file, which changes while the worker is alive."""
    with suppress(OSError):
        os.scandir(file.parent).close()  # lets a file server's client look for new files
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        return msgspec.json.decode(opened.read(), type=Published), (status.st_ino, status.st_mtime_ns)


def _is_younger_than_process(file: Path) -> bool:
    """Return whether a file was written since this process began, by the clock of the file's storage."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[-1].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[_START_TIME]) / os.sysconf("SC_CLK_TCK")
        with NamedTemporaryFile(dir=file.parent, prefix=".clock-") as now:
            return file.stat().st_mtime > os.fstat(now.fileno()).st_mtime - age
    except (OSError, AttributeError):  # another system than Linux, or a folder that this process can't write to
        return False


def _state_of(file: Path) -> tuple[int, int] | None:
    with suppress(OSError, msgspec.MsgspecError):
        return _read(file)[1]
    return None
