"""Trials run side by side, one process for each core."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process

import torch

from netdsl.errors import DistributedError
from zoo.simulating.cache import Cache, key_of
from zoo.simulating.trial import Outcome, Trial

Told = Callable[[int, int], None]  # how many trials are done, and how many there are


def outcomes(trials: Iterable[Trial], told: Told, cache: Cache | None = None) -> list[Outcome]:
    """What comes out of each. What is in the cache already isn't trained again; what is equal is trained once."""
    ordered = list(trials)
    keys = [key_of(trial) for trial in ordered]
    wanted = dict(zip(keys, ordered, strict=True))
    found = {key: kept for key, trial in wanted.items() if cache and (kept := cache.get(trial)) is not None}
    told(len(found), len(wanted))
    for key, outcome in _trained({key: trial for key, trial in wanted.items() if key not in found}):
        if cache is not None:
            cache.put(wanted[key], outcome)
        found[key] = outcome
        told(len(found), len(wanted))
    return [found[key] for key in keys]


def _trained(trials: dict[str, Trial]) -> Iterable[tuple[str, Outcome]]:
    """As they come; the largest begin first, so that none is left alone at the end."""
    if not trials:
        return
    count, others = min(len(trials), os.cpu_count() or 1), set(active_children())
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin) as pool:
        largest = sorted(trials, key=lambda key: -trials[key].plan.workers)
        with _interrupts_ignored():
            keys: dict[Future[Outcome], str] = {pool.submit(trials[key].run): key for key in largest}
        try:
            for future in as_completed(keys):
                yield keys[future], future.result()
        except BrokenProcessPool:
            raise DistributedError("a process that simulated ended; is there enough memory?") from None
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that begin now are deaf to Ctrl-C, and leave it to the one that began them."""
    if threading.current_thread() is not threading.main_thread():  # which alone may change that
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin() -> None:
    """Begin a process that ends with the one that began it, whatever ended that."""
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
