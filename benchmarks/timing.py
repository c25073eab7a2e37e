"""Times several functions in turn in one process."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_LEAST_SECONDS = 2.0  # the least seconds of all tasks together


def time_in_turn(tasks: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median seconds of each task. The first round is a warm-up.

    Short tasks get more rounds because their times vary most. Every round has another order, because a task is slower
    after a task that left less of its memory in the caches.
    """
    runs: list[list[float]] = [[] for _ in tasks]
    chance = random.Random(0)
    while len(runs[0]) <= rounds or sum(map(sum, runs)) < _LEAST_SECONDS:
        for turn in chance.sample(range(len(tasks)), len(tasks)):
            runs[turn].append(seconds(tasks[turn]))
    return [statistics.median(run[1:]) for run in runs]


def seconds(task: Callable[[], object]) -> float:
    """Return the seconds of a task, including the work that it starts on a GPU."""
    synchronize()
    start = time.perf_counter()
    task()
    synchronize()
    return time.perf_counter() - start


def synchronize() -> None:
    """Wait for a GPU, if one is in use."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def max_difference(first: Tensor, second: Tensor) -> float:
    """Return the largest absolute difference of two tensors."""
    return (first - second).abs().max().item()
