"""Downloads over HTTP. A file is fetched from the first address that provides it correctly, and an interrupted download
continues where it stopped."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec

from caffe_proto.errors import FileError
from caffe_proto.storage import sync, write_pieces
from caffe_proto.whole_numbers import whole_number
from netdsl.solver.events import Notice
from zoo.store.errors import (
    DeadlineError,
    DownloadError,
    InterruptedTransferError,
    RangeRefusedError,
    UnreachableError,
)
from zoo.store.first_bytes import BEGINNING, misfit
from zoo.store.records import StoredFile
from zoo.store.transfers import ExpectedFile, Hashes, TransferProgress, TransferSettings
from zoo.store.web import WebFile, open_address

_log = logging.getLogger(__name__)

PART = ".part"
PART_NOTE = ".part.json"

_BLOCK = 1 << 20

_HEADWAY = 1 << 20  # number of bytes after which an attempt counts as progress
_LONGEST_PAUSE = 30.0
_RANGE = re.compile(r"bytes (?P<start>[0-9]+)-[0-9]+/(?P<total>[0-9]+|\*)")


@dataclass(frozen=True)
class _PartNote:
    """The origin of a partial file: its address, and the server's identifier of the file's version."""

    address: str
    validator: str  # a strong ETag, or else the date of the last change; empty if the server sends neither
    total: int | None


class _PartialFile:
    """The part of a file that has already been downloaded. The next attempt continues it."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + PART)
        self._note = target.with_name(target.name + PART_NOTE)

    @property
    def size(self) -> int:
        """The number of downloaded bytes."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def note(self) -> _PartNote | None:
        """Return the origin of the part, or `None` if there is no part or no record of its origin."""
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=_PartNote) if self.size else None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def begin(self, note: _PartNote) -> None:
        """Start again with an empty part from another origin."""
        self.discard()
        write_pieces(self._note, [msgspec.json.encode(note)])

    def open(self) -> BinaryIO:
        """Return the part, opened for appending."""
        return self.path.open("ab", buffering=0)

    def pieces(self) -> Iterator[bytes]:
        """Yield the downloaded bytes in blocks."""
        if not self.path.is_file():
            return
        with self.path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block

    def discard(self) -> None:
        """Delete the part."""
        for path in (self.path, self._note):
            path.unlink(missing_ok=True)

    def finish(self) -> None:
        """Rename the complete file to its final name."""
        sync(self.path)
        self.path.replace(self.target)
        self._note.unlink(missing_ok=True)


def _write_all(file: BinaryIO, piece: bytes) -> None:
    """Write all of a piece to an unbuffered file, where a single call may write less."""
    rest = memoryview(piece)
    while rest:
        rest = rest[file.write(rest) :]


def download(
    target: Path,
    addresses: Sequence[str],
    expected: ExpectedFile,
    settings: TransferSettings,
    headers: Mapping[str, str] | None = None,
) -> StoredFile:
    """Download a file from the first address that provides it. The other addresses are mirrors, which are tried in
    order."""
    if settings.offline:
        raise UnreachableError(f"{addresses[0]}: not downloaded, since offline mode is on")
    problems: list[DownloadError] = []
    for address in addresses:
        if problems:
            settings.listen(Notice(f"{problems[-1]}; trying {urlsplit(address).hostname}"))
        try:
            return _Download(target, address, expected, settings, headers or {}).run()
        except DeadlineError:
            raise
        except DownloadError as problem:
            problems.append(problem)
    kinds = {type(problem) for problem in problems}
    kind = kinds.pop() if len(kinds) == 1 else DownloadError
    raise kind("; ".join(map(str, problems)))


class _Download:
    """The download of a file from one address."""

    def __init__(
        self,
        target: Path,
        address: str,
        expected: ExpectedFile,
        settings: TransferSettings,
        headers: Mapping[str, str],
    ) -> None:
        self._part, self._address, self._expected = _PartialFile(target), address, expected
        self._settings, self._headers = settings, headers

    def run(self) -> StoredFile:
        """Download the file, with several attempts if needed."""
        failures, furthest = 0, self._part.size
        _log.info("fetching %s", self._address)
        while True:
            try:
                return self._attempt_transfer()
            except InterruptedTransferError as problem:
                if isinstance(problem, RangeRefusedError):
                    self._part.discard()
                made_progress = self._part.size >= furthest + _HEADWAY
                furthest = max(furthest, self._part.size)
                failures = 1 if made_progress else failures + 1
                if failures >= self._settings.attempts:
                    raise
                self._pause_before_retry(problem, failures)

    def _pause_before_retry(self, problem: InterruptedTransferError, failures: int) -> None:
        rest = max(self._settings.ends - self._settings.clock(), 0)
        pause = min(self._settings.pause * 1.5 ** (failures - 1), _LONGEST_PAUSE, rest)
        _log.info("attempt %d failed: %s", failures, problem)
        self._settings.listen(Notice(f"{problem}; trying again in {pause:g} seconds"))
        time.sleep(pause)

    def _attempt_transfer(self) -> StoredFile:
        note = self._usable_note()
        _log.debug("%d bytes of %s are here already", 0 if note is None else self._part.size, self._address)
        if note is None or note.total != self._part.size:
            resumed = note is not None
            with open_address(self._address, self._request_headers(note), self._settings) as response:
                hashes = self._receive_rest(response, note)
        else:  # the file was complete, but not yet renamed
            resumed, hashes = True, self._hashes_so_far()
        return self._finish_file(hashes, resumed=resumed)

    def _usable_note(self) -> _PartNote | None:
        """Return the origin of the part, if it can be verified that the rest belongs to the same file."""
        note = self._part.note()
        if note is None or note.address != self._address or not (note.validator or self._expected.is_proof):
            return None
        return note

    def _request_headers(self, note: _PartNote | None) -> dict[str, str]:
        if note is None:
            return dict(self._headers)
        rest = {"Range": f"bytes={self._part.size}-"}
        return {**self._headers, **rest, **({"If-Range": note.validator} if note.validator else {})}

    def _receive_rest(self, response: WebFile, note: _PartNote | None) -> Hashes:
        """Write the response after the existing part, or from the beginning."""
        length = response.length
        if response.status == 206 and note is not None:
            total = self._total_of_range(response, note)
        elif response.status == 200:
            total = length
            self._part.begin(_PartNote(self._address, _validator(response), total))
        else:
            raise DownloadError(
                f"{self._address}: the server answers {response.status} instead of sending a file; check the "
                "address in a browser"
            )
        self._check_size(total)
        hashes = self._hashes_so_far()
        self._write_body(response, hashes, total)
        if total is not None and hashes.size < total:
            raise InterruptedTransferError(
                f"{self._address}: the transfer ended after {hashes.size:,} of {total:,} bytes"
            )
        return hashes

    def _total_of_range(self, response: WebFile, note: _PartNote) -> int | None:
        """Return the total size of the file. Raises an error if the response doesn't continue the existing part."""
        match = _RANGE.fullmatch(response.header("Content-Range"))
        etag = response.header("ETag")
        changed = note.validator.startswith('"') and etag and etag != note.validator
        start, total = (whole_number(match[name]) if match else None for name in ("start", "total"))
        is_range = match is not None and (total is not None or match["total"] == "*")
        if not is_range or start != self._part.size or changed:
            self._part.discard()
            raise InterruptedTransferError(f"{self._address}: the file has changed; downloading it again")
        if None not in (total, note.total) and total != note.total:
            self._part.discard()
            raise InterruptedTransferError(f"{self._address}: the file's size has changed; downloading it again")
        return total

    def _check_size(self, total: int | None) -> None:
        if total is None:
            return
        if total > self._settings.most_bytes:
            self._part.discard()
            raise DownloadError(f"{self._address}: {self._too_big(total)}")
        if self._expected.size not in (None, total):
            self._part.discard()
            raise DownloadError(
                f"{self._address}: the file has {total:,} bytes, but {self._expected.size:,} are expected; "
                "check the address, or the size in the card"
            )
        folder = self._part.target.parent
        with _disk_errors(folder):
            missing = total - self._part.size - shutil.disk_usage(folder).free
        if missing > 0:
            raise FileError(
                f"{folder}: the disk needs {missing:,} more free bytes for {self._part.target.name}; free some "
                "space, and pull again"
            )

    def _too_big(self, size: int) -> str:
        return (
            f"the file has {size:,} bytes or more, but only {self._settings.most_bytes:,} are allowed; allow more "
            "with --max-size"
        )

    def _write_body(self, response: WebFile, hashes: Hashes, total: int | None) -> None:
        name = self._part.target.name
        with self._part.open() as file:
            self._settings.listen(TransferProgress(name, hashes.size, total))
            for piece in response.pieces():
                with _disk_errors(self._part.path):
                    _write_all(file, piece)
                hashes.update(piece)
                if hashes.size > self._settings.most_bytes:
                    self._part.discard()
                    raise DownloadError(f"{self._address}: {self._too_big(hashes.size)}")
                self._settings.listen(TransferProgress(name, hashes.size, total))

    def _hashes_so_far(self) -> Hashes:
        hashes = Hashes()
        for piece in self._part.pieces():
            hashes.update(piece)
        return hashes

    def _finish_file(self, hashes: Hashes, *, resumed: bool) -> StoredFile:
        """Rename the file to its final name if it is correct. If a resumed file is wrong, it is downloaded again from
        the beginning."""
        problem = misfit(self._part.target.name, next(self._part.pieces(), b"")[:BEGINNING])
        if problem is not None:
            self._part.discard()
            raise DownloadError(f"{self._address}: {problem}")
        difference = hashes.difference(self._expected)
        if difference is not None:
            self._part.discard()
            kind = InterruptedTransferError if resumed else DownloadError
            raise kind(f"{self._address}: {difference}, so it isn't kept")
        self._part.finish()
        return StoredFile(self._part.target.name, hashes.size, hashes.sha256)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn disk problems into FileErrors, which don't cause another attempt."""
    try:
        yield
    except OSError as problem:
        raise FileError(
            f"{path}: the file can't be written: {problem.strerror}; free space there, and pull again to continue"
        ) from None


def _validator(response: WebFile) -> str:
    """Return an identifier of the file's version: a strong ETag, or else the date of the last change."""
    etag = response.header("ETag")
    return etag if etag.startswith('"') else response.header("Last-Modified")
