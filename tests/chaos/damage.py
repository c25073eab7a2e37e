"""Damage to the newest saved state: to one file of a journal's entry or of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.chaos.settings import RUN, TrainingSetting


class DamageKind(Enum):
    """The ways to damage a file."""

    TRUNCATED = "truncated"
    EMPTY = "empty"
    ZEROED = "zeroed"
    BRACES = "'{}'"
    FLIPPED_BIT = "one bit flipped"
    CUT_AT_FIELD = "cut where a field ends"
    MISSING = "missing"
    HIDDEN_FILES = "hidden temporary files beside it"


@dataclass(frozen=True)
class Damage:
    """One act of damage: the file and the position in it, as fractions of the number of files and of the file's
    length."""

    kind: DamageKind
    which: float = 0.0
    where: float = 0.0

    def happen(self, setting: TrainingSetting, folder: Path) -> str:
        """Damage a file of the newest state. Returns a description, or nothing if there is no state."""
        files = newest_state(setting, folder)
        if not files:
            return ""
        path = files[int(self.which * len(files))]
        if self.kind is DamageKind.MISSING:
            path.unlink()
        elif self.kind is DamageKind.HIDDEN_FILES:
            for number, text in enumerate([b"", path.read_bytes()[: path.stat().st_size // 2]]):
                (path.parent / hidden_name(path, number)).write_bytes(text)
        else:
            path.write_bytes(self.damaged(path.read_bytes()))
        return f"{path.relative_to(folder)}: {self.kind.value}"

    def damaged(self, data: bytes) -> bytes:
        """Return the damaged bytes of a file."""
        return _CHANGES[self.kind](data, self.where)


def hidden_name(path: Path, number: int) -> str:
    """Return the name of a temporary file that a process leaves if it is killed while writing another file."""
    return f".{path.name[:40]}.{'planted':x<15}{number}"


def newest_state(setting: TrainingSetting, folder: Path) -> list[Path]:
    """Return the files of the newest complete state, or no files if there is no state."""
    number = setting.progress(folder)
    if not number:
        return []
    if setting.has_journal:
        return sorted((folder / RUN / "rounds" / f"round-{number:08d}").glob("[!.]*"))
    return sorted(folder.glob(f"small_iter_{number}.*"))


def _flip(data: bytes, where: float) -> bytes:
    changed = bytearray(data)
    if changed:
        bit = int(where * 8 * len(changed))
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _cut_at_field(data: bytes, where: float) -> bytes:
    """Cut at the end of a field: a line of a text, a member of an archive, or a field of a message."""
    ends = _ends_of_lines(data) if data[:1] == b"{" else _ends_of_members(data) or _ends_of_fields(data)
    return data[: ends[int(where * len(ends))]] if ends else data[: len(data) // 2]


def _ends_of_lines(data: bytes) -> list[int]:
    return [index + 1 for index, letter in enumerate(data[:-1]) if letter == 0x0A]


def _ends_of_members(data: bytes) -> list[int]:
    """Return the offsets of the members of a zip archive, except the first."""
    ends, start = [], data.find(b"PK\3\4", 1) if data[:4] == b"PK\3\4" else -1
    while start > 0:
        ends.append(start)
        start = data.find(b"PK\3\4", start + 1)
    return ends


def _ends_of_fields(data: bytes) -> list[int]:
    """Return the end offsets of the top-level fields of a protobuf message, except the last."""
    ends, position = [], 0
    while position < len(data):
        tag, position = _varint(data, position)
        length, after = _varint(data, position)
        match tag & 7:
            case 0:
                position = after
            case 1:
                position += 8
            case 2:
                position = after + length
            case 5:
                position += 4
            case _:
                return []  # not a message
        ends.append(position)
    return ends[:-1] if position == len(data) else []


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a varint. Returns the number and the offset after it."""
    value = shift = 0
    while position < len(data):
        byte = data[position]
        value, shift, position = value | (byte & 127) << shift, shift + 7, position + 1
        if byte < 128:
            break
    return value, position


_CHANGES: Mapping[DamageKind, Callable[[bytes, float], bytes]] = {
    DamageKind.TRUNCATED: lambda data, where: data[: int(where * len(data))],
    DamageKind.EMPTY: lambda data, where: b"",
    DamageKind.ZEROED: lambda data, where: bytes(len(data)),
    DamageKind.BRACES: lambda data, where: b"{}",
    DamageKind.FLIPPED_BIT: _flip,
    DamageKind.CUT_AT_FIELD: _cut_at_field,
}
