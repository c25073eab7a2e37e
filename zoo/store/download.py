"""Downloads: a file comes from the first of its addresses that gives it right, and goes on where it broke off."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

from caffe_proto.errors import FileError
from zoo.store.errors import DownloadError, InterruptedTransferError, RangeRefusedError, UnreachableError
from zoo.store.partial_file import PartialFile, PartNote, write_all
from zoo.store.record import StoredFile
from zoo.store.requests import open_address
from zoo.store.transfers import ExpectedFile, Hashes, StoreNotice, TransferProgress, TransferSettings

_PIECE = 1 << 18
_HEADWAY = 1 << 20  # bytes after which an attempt counts as one that got on
_LONGEST_PAUSE = 30.0
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_WEB_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+html|html)", re.IGNORECASE)


def download(
    target: Path,
    addresses: Sequence[str],
    expected: ExpectedFile,
    settings: TransferSettings,
    headers: Mapping[str, str] | None = None,
) -> StoredFile:
    """Fetch a file from the first address that gives it; the others are its mirrors, in their order."""
    if settings.offline:
        raise UnreachableError(f"{addresses[0]}: isn't fetched, since no network is wanted")
    problems: list[DownloadError] = []
    for address in addresses:
        if problems:
            settings.listen(StoreNotice(f"{problems[-1]}; {urlsplit(address).hostname} is tried"))
        try:
            return _Download(target, address, expected, settings, headers or {}).run()
        except DownloadError as problem:
            problems.append(problem)
    kinds = {type(problem) for problem in problems}
    kind = kinds.pop() if len(kinds) == 1 else DownloadError
    raise kind("; ".join(map(str, problems)))


class _Download:
    """A file on its way from one address."""

    def __init__(
        self,
        target: Path,
        address: str,
        expected: ExpectedFile,
        settings: TransferSettings,
        headers: Mapping[str, str],
    ) -> None:
        self._part, self._address, self._expected = PartialFile(target), address, expected
        self._settings, self._headers = settings, headers

    def run(self) -> StoredFile:
        """Fetch the file, in several attempts if it must be."""
        failures, furthest = 0, self._part.size
        while True:
            try:
                return self._attempt()
            except InterruptedTransferError as problem:
                if isinstance(problem, RangeRefusedError):
                    self._part.discard()
                got_on = self._part.size >= furthest + _HEADWAY
                furthest = max(furthest, self._part.size)
                failures = 1 if got_on else failures + 1
                if failures >= self._settings.attempts:
                    raise
                self._pause(problem, failures)

    def _pause(self, problem: InterruptedTransferError, failures: int) -> None:
        pause = min(self._settings.pause * 1.5 ** (failures - 1), _LONGEST_PAUSE)
        self._settings.listen(StoreNotice(f"{problem}; tried again in {pause:g} seconds"))
        time.sleep(pause)

    def _attempt(self) -> StoredFile:
        note = self._usable_note()
        if note is None or note.total != self._part.size:
            resumed = note is not None
            with open_address(self._address, self._request_headers(note), self._settings.silence) as response:
                hashes = self._receive(response, note)
        else:  # only its name was missing
            resumed, hashes = True, self._hashes_so_far()
        return self._finish(hashes, resumed=resumed)

    def _usable_note(self) -> PartNote | None:
        """What is known about the part, if the rest can be told to be of the same file."""
        note = self._part.note()
        if note is None or note.address != self._address or not (note.validator or self._expected.is_proof):
            return None
        return note

    def _request_headers(self, note: PartNote | None) -> dict[str, str]:
        if note is None:
            return dict(self._headers)
        rest = {"Range": f"bytes={self._part.size}-"}
        return {**self._headers, **rest, **({"If-Range": note.validator} if note.validator else {})}

    def _receive(self, response: HTTPResponse, note: PartNote | None) -> Hashes:
        """Write what comes behind what is here, or anew."""
        length = response.headers.get("Content-Length", "")
        if response.status == 206 and note is not None:
            total = self._total_of_range(response, note)
        elif response.status == 200:
            total = int(length) if length.isdecimal() else None
            self._part.begin(PartNote(self._address, _validator(response), total))
        else:
            raise DownloadError(f"{self._address}: the server answers {response.status}, and not with a file")
        self._check_size(total)
        hashes = self._hashes_so_far()
        self._write(response, hashes, total)
        if total is not None and hashes.size < total:
            raise InterruptedTransferError(f"{self._address}: ended after {hashes.size:,} of {total:,} bytes")
        return hashes

    def _total_of_range(self, response: HTTPResponse, note: PartNote) -> int | None:
        """The size of the file whose rest comes; an error if it isn't the rest of what is here."""
        match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        etag = response.headers.get("ETag", "")
        changed = note.validator.startswith('"') and etag and etag != note.validator
        if match is None or int(match[1]) != self._part.size or changed:
            self._part.discard()
            raise InterruptedTransferError(f"{self._address}: the file changed meanwhile; it is fetched anew")
        total = None if match[2] == "*" else int(match[2])
        if None not in (total, note.total) and total != note.total:
            self._part.discard()
            raise InterruptedTransferError(f"{self._address}: the file has another size now; it is fetched anew")
        return total

    def _check_size(self, total: int | None) -> None:
        if total is None:
            return
        if total > self._settings.most_bytes:
            self._part.discard()
            raise DownloadError(f"{self._address}: {self._too_big(total)}")
        if self._expected.size not in (None, total):
            self._part.discard()
            raise DownloadError(f"{self._address}: has {total:,} bytes, and {self._expected.size:,} are expected")
        folder = self._part.target.parent
        with _disk_errors(folder):
            missing = total - self._part.size - shutil.disk_usage(folder).free
        if missing > 0:
            raise FileError(
                f"{folder}: the disk has {missing:,} bytes too few for {self._part.target.name}; make room, and pull "
                "again"
            )

    def _too_big(self, size: int) -> str:
        return f"has {size:,} bytes or more, and {self._settings.most_bytes:,} are allowed; --max-size allows more"

    def _write(self, response: HTTPResponse, hashes: Hashes, total: int | None) -> None:
        name = self._part.target.name
        with self._part.open() as file:
            self._settings.listen(TransferProgress(name, hashes.size, total))
            while piece := response.read1(_PIECE):
                with _disk_errors(self._part.path):
                    write_all(file, piece)
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

    def _finish(self, hashes: Hashes, *, resumed: bool) -> StoredFile:
        """Give the file its name if it is the right one. One of several parts gets another chance as a whole."""
        if _WEB_PAGE.match(next(self._part.pieces(), b"")):
            self._part.discard()
            raise DownloadError(f"{self._address}: is a web page, and no file of a model")
        difference = hashes.difference(self._expected)
        if difference is not None:
            self._part.discard()
            kind = InterruptedTransferError if resumed else DownloadError
            raise kind(f"{self._address}: {difference}, so it isn't kept")
        self._part.finish()
        return StoredFile(self._part.target.name, hashes.size, hashes.sha256)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Problems of the disk are no problems of the network, after which one tries again."""
    try:
        yield
    except OSError as problem:
        raise FileError(
            f"{path}: can't be written: {problem.strerror}; the next pull goes on from what is there"
        ) from None


def _validator(response: HTTPResponse) -> str:
    """What says that a later part is of the same file: a strong ETag, or else the date of the last change."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")
