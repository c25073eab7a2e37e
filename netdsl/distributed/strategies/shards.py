"""A model cut into shards, and which of them is reduced and which is broadcast in which step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

_ALIGNMENT = 16  # values: blobs in the flat buffer begin at such places too


@dataclass(frozen=True)
class ShardStep:
    """What is under way at once."""

    reduced: int | None
    broadcast: int | None


def cut(size: int, count: int) -> list[slice]:
    """A flat buffer in so many parts of nearly one length, wherever layers end."""
    places = [min(size, round(size * index / count / _ALIGNMENT) * _ALIGNMENT) for index in range(count)] + [size]
    return [slice(start, stop) for start, stop in pairwise(places)]


def lag(count: int) -> int:
    """How many steps after its reduction a shard is broadcast: with three or more it is prepared in between."""
    return 1 if count < 3 else 2


def step_of(number: int, count: int) -> ShardStep:
    """One shard is reduced and broadcast in turn; of several one is reduced while another is broadcast."""
    if count == 1:
        return ShardStep(0, None) if number % 2 == 0 else ShardStep(None, 0)
    ago = number - lag(count)
    return ShardStep(number % count, ago % count if ago >= 0 else None)
