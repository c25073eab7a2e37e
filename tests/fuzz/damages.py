"""Damage to files, as disks, networks, editors and attackers cause it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

# changes a file in place; `bytes` is another file's content
DamageFunction = Callable[[Random, bytearray, bytes], None]

_TELLING = bytes.fromhex("00017f80ff0a0b0c2a2d3a525b5d626878a2f8") + b"{}<>\"'\\#,;.:= 9e"
_LENGTHS = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 40), (1 << 63) - 1]
_SIZES = (1, 2, 4, 8, 30, 400)


def damaged(random: Random, data: bytes, other: bytes) -> bytes:
    """Return the file after a few accidents, or rarely another file."""
    if random.random() < 0.02:
        return random.choice([other, b"", random.randbytes(random.choice([1, 20, 3000]))])
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 1, 2, 3, 8])):
        random.choice(DAMAGES)(random, changed, other)
    return bytes(changed)


def _place(random: Random, data: Sequence[int]) -> int:
    """Choose a place, often near the start or the end, where formats have their headers."""
    near = random.randrange(min(len(data), 256) + 1)
    return random.choice([random.randrange(len(data) + 1), near, len(data) - near])


def _flip(random: Random, data: bytearray, other: bytes) -> None:
    place = _place(random, data)
    if place < len(data):
        data[place] ^= 1 << random.randrange(8)


def _change(random: Random, data: bytearray, other: bytes) -> None:
    place = _place(random, data)
    data[place : place + 1] = bytes([random.choice([random.choice(_TELLING), random.randrange(256)])])


def _cut(random: Random, data: bytearray, other: bytes) -> None:
    del data[_place(random, data) :]


def _drop(random: Random, data: bytearray, other: bytes) -> None:
    place = _place(random, data)
    del data[place : place + random.choice(_SIZES)]


def _zero(random: Random, data: bytearray, other: bytes) -> None:
    place = _place(random, data)
    size = len(data[place : place + random.choice(_SIZES)])
    data[place : place + size] = bytes(size)


def _double(random: Random, data: bytearray, other: bytes) -> None:
    place = _place(random, data)
    stretch = data[place : place + random.choice(_SIZES)]
    data[place:place] = stretch * random.choice([1, 1, 1, 50])


def _splice(random: Random, data: bytearray, other: bytes) -> None:
    place, size, start = _place(random, data), random.choice(_SIZES), random.randrange(len(other) + 1)
    data[place : place + random.choice([0, size])] = other[start : start + size]


def _length(random: Random, data: bytearray, other: bytes) -> None:
    """Overwrite an aligned number, which may be a length."""
    size = random.choice([2, 4, 8])
    place = _place(random, data) // size * size
    number = random.choice([random.choice(_LENGTHS), random.randrange(1 << 8 * size)]) % (1 << 8 * size)
    if place + size <= len(data):
        data[place : place + size] = number.to_bytes(size, random.choice(["little", "little", "big"]))


DAMAGES: list[DamageFunction] = [_flip, _flip, _change, _change, _length, _length, _cut, _drop, _zero, _double, _splice]
