"""The place of a run as a worker sees it: the run's folder itself, or a copy on a machine that doesn't see the folder.

A worker sees the folder if it finds the lease of the run's supervisor there, and may write there. Otherwise it fetches
what it reads from the supervisor, and sends what it writes to it.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from caffe_proto.storage import PRIVATE, create_folder, temporary_folder, write_pieces
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.control.protocol import (
    EntryDone,
    FileOperation,
    FileReply,
    FileRequest,
    receive_from_server,
    send,
)
from netdsl.distributed.journal import ROUNDS, WHOLE, Journal, JournalEntry, Retention, WorkerPart, files_of_part
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run import RUN_FILES, Run
from netdsl.distributed.run_files import received_pieces, send_contents
from netdsl.distributed.run_lease import check_lease, has_lease
from netdsl.errors import DistributedError, PeerLostError

_log = logging.getLogger(__name__)

_NAMED = "named"  # the folder of a copy with files that aren't in the run's folder


class RunPlace:
    """A run's folder that this worker sees."""

    def __init__(self, folder: Path, lease: str = "") -> None:
        self.folder, self._lease = folder, lease

    def load(self) -> Run:
        """Load the run."""
        return Run.load(self.folder, in_worker=True)

    def journal(self, keeping: Retention) -> Journal:
        """Return the run's journal."""
        return Journal(self.folder / ROUNDS, keeping)

    def check_writer(self) -> None:
        """Raise a `DistributedError` if another process writes to the folder now."""
        check_lease(self.folder, self._lease)

    def fetch(self, name: str) -> None:
        """Make sure that a file of the run's folder is in this one."""

    def remove(self, name: str) -> None:
        """Remove a file from the folder, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def deliver(self) -> None:
        """Make sure that all files that this worker has written are in the run's folder."""

    def shown(self, contents: dict[str, Any]) -> dict[str, Any]:
        """Return a report in which files have the names that they have in the run's folder."""
        return contents


class RunCopy(RunPlace):
    """A copy of what this worker needs of a run's folder. Whatever the worker writes there is sent to the folder."""

    def __init__(self, connection: Endpoint, folder: Path, original: str) -> None:
        super().__init__(folder)
        self._connection, self._original = connection, original
        self._asking = threading.Lock()
        self._known: dict[str, tuple[int, int]] = {}  # files that are in the run's folder too, with their states

    def load(self) -> Run:
        """Fetch the files that the run needs, and load the run."""
        for name in RUN_FILES:
            self.fetch(name)
        run = Run.load(self.folder, in_worker=True)
        for path in run.own_files():
            if path.is_relative_to(self.folder):
                for name in self._ask(FileRequest(FileOperation.LIST, str(path.relative_to(self.folder)))).names:
                    self.fetch(name)
        names = [name for name in run.named_files() if not Path(name).is_file()]
        missing = {name: f"{_NAMED}/{number}/{Path(name).name}" for number, name in enumerate(names)}
        for name, place in missing.items():
            self.fetch(name, place)
        self._known = self._states()
        if not missing:
            return run
        moved = {name: str(self.folder / place) for name, place in missing.items()}
        return Run.load(self.folder, in_worker=True, moved=moved)

    def journal(self, keeping: Retention) -> Journal:
        """Return a journal whose files are sent and fetched."""
        return _JournalCopy(self, keeping)

    def check_writer(self) -> None:
        """Do nothing, since the supervisor checks that before it writes."""

    def remove(self, name: str) -> None:
        """Remove a file from the run's folder, if it is there."""
        super().remove(name)
        self._ask(FileRequest(FileOperation.REMOVE, name))

    def deliver(self) -> None:
        """Send the files that are new or have changed, in the order in which they were written."""
        for name, state in sorted(self._states().items(), key=lambda item: item[1]):
            if self._known.get(name) != state:
                self.send(name)
                self._known[name] = state

    def shown(self, contents: dict[str, Any]) -> dict[str, Any]:
        """Return a report in which files have the names that they have in the run's folder."""
        here = str(self.folder)
        return {
            name: value.replace(here, self._original) if isinstance(value, str) else value
            for name, value in contents.items()
        }

    def fetch(self, name: str, place: str = "") -> None:
        """Fetch a file of the run's folder. Its name and its place in the copy are the same by default."""
        path = self.folder / (place or name)
        create_folder(path.parent, PRIVATE)
        with self._asking, _losing():
            size = self._answer_to(FileRequest(FileOperation.READ, name)).size
            write_pieces(path, received_pieces(self._connection, size))

    def send(self, name: str) -> None:
        """Send a file to the run's folder."""
        with self._asking, _losing(), (self.folder / name).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            send(self._connection, FileRequest(FileOperation.WRITE, name, size))
            send_contents(self._connection, file, size)
            self._reply()

    def complete(self, entry: EntryDone) -> None:
        """Complete an entry of the run's journal."""
        self._ask(entry)

    def _states(self) -> dict[str, tuple[int, int]]:
        """Return the times and the sizes of the files that belong directly to the run's folder."""
        files = [path for path in self.folder.iterdir() if path.is_file() and not path.name.startswith(".")]
        return {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in files}

    def _ask(self, request: FileRequest | EntryDone) -> FileReply:
        with self._asking, _losing():
            return self._answer_to(request)

    def _answer_to(self, request: FileRequest | EntryDone) -> FileReply:
        send(self._connection, request)
        return self._reply()

    def _reply(self) -> FileReply:
        reply = receive_from_server(self._connection)
        if not isinstance(reply, FileReply):
            raise PeerLostError("the connection to the run's folder ended")
        if reply.problem:
            raise DistributedError(reply.problem)
        return reply


class _JournalCopy(Journal):
    """The journal of a run whose folder is elsewhere. Only the entry from which training resumes is kept here."""

    def __init__(self, place: RunCopy, keeping: Retention) -> None:
        super().__init__(place.folder / ROUNDS, keeping)
        self._place = place

    def write(self, after: int, worker: int, tensors: Mapping[str, Tensor], part: WorkerPart) -> None:
        """Write one worker's part of the entry after a round, and send it."""
        super().write(after, worker, tensors, part)
        folder = self.entry_folder(after)
        for name in files_of_part(worker):
            self._place.send(f"{ROUNDS}/{folder.name}/{name}")
        shutil.rmtree(folder)

    def complete(self, after: int, members: Sequence[int], parts: Sequence[int], score: float | None) -> None:
        """Complete the entry in the run's folder."""
        self._place.complete(EntryDone(after, tuple(members), tuple(parts), score))

    def after(self, number: int) -> JournalEntry | None:
        """Return the entry after a round, which is fetched."""
        if number:
            self._fetch(self.entry_folder(number), WHOLE)
        return super().after(number)

    def read_tensors(self, entry: JournalEntry, worker: int, only: Sequence[str] = ()) -> dict[str, Tensor]:
        """Return the tensors of a worker's part of an entry, which is fetched."""
        self._fetch(entry.path, *files_of_part(worker))
        return super().read_tensors(entry, worker, only)

    def read_part(self, entry: JournalEntry, worker: int) -> WorkerPart:
        """Return the contents of a worker's part of an entry besides tensors, which are fetched."""
        self._fetch(entry.path, files_of_part(worker)[-1])
        return super().read_part(entry, worker)

    def _fetch(self, entry: Path, *names: str) -> None:
        for name in names:
            if not (entry / name).exists():
                self._place.fetch(f"{ROUNDS}/{entry.name}/{name}")


@contextmanager
def run_place(spec: WorkerSpec, control: ControlClient) -> Iterator[RunPlace]:
    """Provide the place of a worker's run. A copy is removed in the end."""
    folder = Path(spec.run)
    if not spec.lease or (has_lease(folder, spec.lease) and os.access(folder, os.W_OK)):
        yield RunPlace(folder, spec.lease)
        return
    _log.info("worker %d doesn't see %s, so it fetches and sends the run's files", spec.rank, folder)
    with run_copy(control.open_files(), spec.run) as copy:
        yield copy


@contextmanager
def run_copy(connection: Endpoint, original: str) -> Iterator[RunCopy]:
    """Provide an empty copy of a run's folder at the other end of a connection. Both end with the context."""
    with closing(connection), temporary_folder(Path(tempfile.gettempdir()), "netdsl-run") as temporary:
        yield RunCopy(connection, temporary.resolve(), original)


@contextmanager
def _losing() -> Iterator[None]:
    """Convert the errors of a connection into a `PeerLostError`."""
    try:
        yield
    except OSError as problem:
        raise PeerLostError(f"the connection to the run's folder ended: {problem}") from None
