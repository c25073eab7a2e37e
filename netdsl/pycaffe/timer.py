"""pycaffe's stopwatch."""

from __future__ import annotations

from time import perf_counter

import torch


class Timer:
    """Measures the time from `start` to `stop`, including work that a GPU hasn't finished."""

    def __init__(self) -> None:
        self._began = self._ended = 0.0

    def start(self) -> None:
        """Start the timer."""
        self._began = _now()

    def stop(self) -> None:
        """Stop the timer."""
        self._ended = _now()

    @property
    def ms(self) -> float:
        """The measured time in milliseconds."""
        return max(0.0, self._ended - self._began) * 1000


def _now() -> float:
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
    return perf_counter()
