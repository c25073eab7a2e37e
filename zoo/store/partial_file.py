"""A file that isn't whole yet: its bytes so far in NAME.part, and beside it where they are from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from caffe_proto.storage import sync, write_pieces

PART = ".part"
NOTE = ".part.json"

_BLOCK = 1 << 20


@dataclass(frozen=True)
class PartNote:
    """Where the bytes of a part are from: an address, and what the server calls this version of the file."""

    address: str
    validator: str  # a strong ETag, or else the date of its last change; empty if the server says neither
    total: int | None


class PartialFile:
    """The part of a file that is here, at which the next attempt begins."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + PART)
        self._note = target.with_name(target.name + NOTE)

    @property
    def size(self) -> int:
        """The bytes that are here."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def note(self) -> PartNote | None:
        """Where the part is from; None if there is none, or nothing that says so."""
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=PartNote) if self.size else None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def begin(self, note: PartNote) -> None:
        """Begin anew, with bytes from somewhere."""
        self.discard()
        write_pieces(self._note, [msgspec.json.encode(note)])

    def open(self) -> BinaryIO:
        """The part, to write behind what is there."""
        return self.path.open("ab", buffering=0)

    def pieces(self) -> Iterator[bytes]:
        """The bytes that are here, in blocks."""
        if not self.path.is_file():
            return
        with self.path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block

    def discard(self) -> None:
        """Forget what is here."""
        for path in (self.path, self._note):
            path.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the whole file its name."""
        sync(self.path)
        self.path.replace(self.target)
        self._note.unlink(missing_ok=True)


def write_all(file: BinaryIO, piece: bytes) -> None:
    """Write all of a piece to a file without a buffer, a single call of which may write less."""
    rest = memoryview(piece)
    while rest:
        rest = rest[file.write(rest) :]
