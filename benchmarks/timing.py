"""Two ways to do the same, timed in turn in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds of both. Each goes first in every other round, and one round before all is for warming up."""
    runs = []
    for index in range(rounds + 1):
        first, second = (ours, theirs) if index % 2 else (theirs, ours)
        pair = seconds(first), seconds(second)
        runs.append(pair if index % 2 else pair[::-1])
    return statistics.median(run[0] for run in runs[1:]), statistics.median(run[1] for run in runs[1:])


def seconds(task: Callable[[], object]) -> float:
    """How long a task takes, to the end of what it started on a GPU."""
    synchronise()
    start = time.perf_counter()
    task()
    synchronise()
    return time.perf_counter() - start


def synchronise() -> None:
    """Wait for a GPU, if one is in use."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def gap(one: Tensor, other: Tensor) -> float:
    """How far two results are apart."""
    return (one - other).abs().max().item()
