"""Timing of several functions in turn in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def time_in_turn(tasks: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median seconds of each. They take turns in going first, and the first round is a warm-up."""
    runs: list[list[float]] = [[] for _ in tasks]
    for index in range(rounds + 1):
        for place in range(len(tasks)):
            turn = (index + place) % len(tasks)
            runs[turn].append(seconds(tasks[turn]))
    return [statistics.median(run[1:]) for run in runs]


def seconds(task: Callable[[], object]) -> float:
    """The seconds of a task, including the work that it started on a GPU."""
    synchronise()
    start = time.perf_counter()
    task()
    synchronise()
    return time.perf_counter() - start


def synchronise() -> None:
    """Wait for a GPU, if one is in use."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def max_difference(first: Tensor, second: Tensor) -> float:
    """The largest difference of two tensors."""
    return (first - second).abs().max().item()
