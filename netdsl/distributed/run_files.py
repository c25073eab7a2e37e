"""Serves a run's folder to workers on machines that don't see it, over the control server's connections."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from caffe_proto.errors import CaffeError
from caffe_proto.storage import PRIVATE, check_regular, create_folder, path_below, write_pieces
from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.control.protocol import (
    EntryDone,
    FileOperation,
    FileReply,
    FileRequest,
    receive_exactly,
    receive_from_worker,
    send,
)
from netdsl.distributed.journal import Journal
from netdsl.distributed.run_lease import RunLease
from netdsl.errors import DistributedError, PeerLostError

_log = logging.getLogger(__name__)

_PIECE = 1 << 20  # bytes that are in memory at once


class RunFiles:
    """A run's folder and its journal, which this process may change as long as it holds the lease.

    `named` contains the names of other files that the run reads, and that workers may fetch too.
    """

    def __init__(self, folder: Path, journal: Journal, lease: RunLease | None, named: Sequence[str] = ()) -> None:
        self._folder, self._journal, self._lease, self._named = folder, journal, lease, named

    def serve(self, connection: Endpoint) -> None:
        """Answer a worker's requests until its connection ends."""
        while isinstance(request := receive_from_worker(connection), FileRequest | EntryDone):
            try:
                reply = self._reply_to(connection, request)
            except PeerLostError:
                return
            except OSError as problem:
                reply = FileReply(problem=f"{self._folder}: {problem.strerror or problem}")
            except CaffeError as problem:
                reply = FileReply(problem=str(problem))
            if reply is not None:
                send(connection, reply)

    def _reply_to(self, connection: Endpoint, request: FileRequest | EntryDone) -> FileReply | None:
        """Return the reply to a request, or `None` if it has been sent."""
        match request:
            case FileRequest(FileOperation.READ, name):
                send_file(connection, Path(name) if name in self._named else self._path(name))
                return None
            case FileRequest(FileOperation.LIST, name):
                return FileReply(names=self._names_below(self._path(name)))
            case FileRequest(FileOperation.WRITE, name, size):
                self._write(connection, name, size)
            case FileRequest(FileOperation.REMOVE, name):
                self._check_lease()
                self._path(name).unlink(missing_ok=True)
            case EntryDone(after, members, parts, score):
                self._check_lease()
                self._journal.complete(after, members, parts, score)
        return FileReply()

    def _names_below(self, path: Path) -> tuple[str, ...]:
        """Return the name of a file, or of all files in a folder."""
        paths = sorted(path.rglob("*")) if path.is_dir() else [path]
        return tuple(str(each.relative_to(self._folder)) for each in paths if each.is_file())

    def _write(self, connection: Endpoint, name: str, size: int) -> None:
        """Write a file of the folder with the contents that follow, which are also received if that fails."""
        contents = received_pieces(connection, size)
        try:
            self._check_lease()
            path = self._path(name)
            for folder in reversed(path.relative_to(self._folder).parents[:-1]):
                create_folder(self._folder / folder, PRIVATE)
            write_pieces(path, contents, durable=True)
            _log.debug("received %s", path)
        finally:
            for _ in contents:
                pass

    def _check_lease(self) -> None:
        if self._lease is not None:
            self._lease.check()

    def _path(self, name: str) -> Path:
        """Return the path of a file below the folder."""
        path = path_below(self._folder, name)
        if path is None:
            raise DistributedError(
                f"a worker asks for a file that isn't below {self._folder}; start all workers with the same version "
                "of netdsl"
            )
        return path


def send_file(connection: Endpoint, path: Path) -> None:
    """Send a reply with a file's size, and then its contents."""
    try:
        check_regular(path, may_be_empty=True)
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            send(connection, FileReply(size))
            send_contents(connection, file, size)
    except FileNotFoundError as problem:
        raise DistributedError(f"{path}: {problem.strerror}") from None


def send_contents(connection: Endpoint, file: BinaryIO, size: int) -> None:
    """Send a file's first bytes in pieces. Raises a `PeerLostError` if there are fewer, since others then follow."""
    file.seek(0)
    while size:
        piece = file.read(min(_PIECE, size))
        if not piece:
            raise PeerLostError(f"{file.name}: the file became shorter while it was sent; run the command again")
        connection.sendall(piece)
        size -= len(piece)


def received_pieces(connection: Endpoint, size: int) -> Iterator[bytes]:
    """Yield the next bytes of a connection in pieces. Raises a `PeerLostError` if it ends early."""
    while size:
        piece = receive_exactly(connection, min(_PIECE, size))
        if piece is None:
            raise PeerLostError("the connection ended in the middle of a file")
        size -= len(piece)
        yield piece
