"""Applies a function to the items of a source in several threads. Results keep the order of the items."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import DataError

T = TypeVar("T")
_WORKERS = min(8, os.cpu_count() or 1)
_PREFETCH = 4 * _WORKERS  # items that are fetched before their results are needed


class FetchesItems(Protocol):
    """A source from which one thread fetches items."""

    def fetch(self, index: int) -> Any:
        """Return one item in its stored form."""
        ...


def writing_order(count: int, seed: int | None) -> NDArray[np.int64]:
    """Return the order in which items are written. With a seed, it is random."""
    return np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)


def map_items(
    source: FetchesItems, indices: Iterable[int], function: Callable[[int, Any], T]
) -> Generator[T | DataError]:
    """Yield the results of `function` for the positions in `indices` and the items at these indices.

    If an item can't be fetched, or the function raises a `DataError`, the error replaces the result.
    """
    pending: deque[Future[T | DataError]] = deque()
    with ThreadPoolExecutor(_WORKERS) as pool:
        try:
            for position, index in enumerate(indices):
                if len(pending) == _PREFETCH:
                    yield pending.popleft().result()
                pending.append(_submit(pool, source, index, partial(function, position)))
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def good_results(results: Iterable[T | DataError], bad: list[str] | None, done: Callable[[], object]) -> Generator[T]:
    """Yield the results that aren't errors, and call `done` for each result.

    An error is appended to `bad`. Without such a list, it is raised.
    """
    for result in results:
        done()
        if not isinstance(result, DataError):
            yield result
        elif bad is None:
            raise result
        else:
            bad.append(str(result))


def _submit(
    pool: ThreadPoolExecutor, source: FetchesItems, index: int, function: Callable[[Any], T]
) -> Future[T | DataError]:
    try:
        return pool.submit(_result, function, source.fetch(index))
    except DataError as problem:
        failed: Future[T | DataError] = Future()
        failed.set_result(problem)
        return failed


def _result(function: Callable[[Any], T], fetched: Any) -> T | DataError:
    try:
        return function(fetched)
    except DataError as problem:
        return problem
