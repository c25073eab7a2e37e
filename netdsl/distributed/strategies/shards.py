"""The shards of a model, and the schedule of their reductions and broadcasts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

_ALIGNMENT = 16  # values, as for the blobs in the flat buffer


@dataclass(frozen=True)
class ShardStep:
    """The shards that are exchanged in one step."""

    reduced: int | None
    broadcast: int | None


def cut(size: int, count: int) -> list[slice]:
    """The slices of a flat buffer in `count` parts of nearly equal length, which don't end where layers do."""
    places = [min(size, round(size * index / count / _ALIGNMENT) * _ALIGNMENT) for index in range(count)] + [size]
    return [slice(start, stop) for start, stop in pairwise(places)]


def lag(count: int) -> int:
    """The number of steps between a shard's reduction and broadcast; of three or more one is prepared between them."""
    return 1 if count < 3 else 2


def step_of(number: int, count: int) -> ShardStep:
    """The exchanges of a step: one shard is reduced and broadcast in turn, several at the same time."""
    if count == 1:
        return ShardStep(0, None) if number % 2 == 0 else ShardStep(None, 0)
    ago = number - lag(count)
    return ShardStep(number % count, ago % count if ago >= 0 else None)
