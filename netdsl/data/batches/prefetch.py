"""Items made by several threads and handed out in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from netdsl.data.sources.source import Source
from netdsl.errors import DataError

T = TypeVar("T")
_WORKERS = min(8, os.cpu_count() or 1)
_AHEAD = 4 * _WORKERS


def made(source: Source, order: Iterable[int], make: Callable[[int, Any], T]) -> Generator[T | DataError]:
    """What `make` makes of every place in the order and what was fetched for it, or the error that came instead."""
    waiting: deque[Future[T | DataError]] = deque()
    with ThreadPoolExecutor(_WORKERS) as pool:
        try:
            for place, index in enumerate(order):
                if len(waiting) == _AHEAD:
                    yield waiting.popleft().result()
                waiting.append(_begun(pool, source, index, partial(make, place)))
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _begun(pool: ThreadPoolExecutor, source: Source, index: int, make: Callable[[Any], T]) -> Future[T | DataError]:
    try:
        return pool.submit(_tried, make, source.fetch(index))
    except DataError as problem:
        failed: Future[T | DataError] = Future()
        failed.set_result(problem)
        return failed


def _tried(make: Callable[[Any], T], fetched: Any) -> T | DataError:
    try:
        return make(fetched)
    except DataError as problem:
        return problem
