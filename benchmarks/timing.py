"""Timing of two functions alternately in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor


def time_alternately(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The median seconds of both. They take turns in going first, and the first round is a warm-up."""
    runs = []
    for index in range(rounds + 1):
        first, second = (ours, theirs) if index % 2 else (theirs, ours)
        pair = seconds(first), seconds(second)
        runs.append(pair if index % 2 else pair[::-1])
    return statistics.median(run[0] for run in runs[1:]), statistics.median(run[1] for run in runs[1:])


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
