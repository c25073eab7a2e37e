"""Trials run side by side, one process for each core."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process

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
    count = min(len(trials), os.cpu_count() or 1)
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin) as pool:
        largest = sorted(trials, key=lambda key: -trials[key].plan.size)
        keys: dict[Future[Outcome], str] = {pool.submit(trials[key].run): key for key in largest}
        try:
            for future in as_completed(keys):
                yield keys[future], future.result()
        except BrokenProcessPool:
            raise DistributedError("a process that simulated ended; is there enough memory?") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """Ctrl-C ends a process without a word; the one that began it says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Whoever trains for nobody stops."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
