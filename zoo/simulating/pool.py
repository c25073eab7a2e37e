"""Parallel trials, one process for each core."""

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
from zoo.simulating.cache import TrialCache, key_of
from zoo.simulating.trial import Trial, TrialOutcome

ProgressCallback = Callable[[int, int], None]  # takes the numbers of finished and of all trials


def run_trials(
    trials: Iterable[Trial], report_progress: ProgressCallback, cache: TrialCache | None = None
) -> list[TrialOutcome]:
    """Run trials and return their outcomes. Cached trials aren't run again; equal ones are run once."""
    ordered = list(trials)
    keys = [key_of(trial) for trial in ordered]
    trials_by_key = dict(zip(keys, ordered, strict=True))
    outcomes = {
        key: cached for key, trial in trials_by_key.items() if cache and (cached := cache.get(trial)) is not None
    }
    report_progress(len(outcomes), len(trials_by_key))
    for key, outcome in _run_in_processes({key: trial for key, trial in trials_by_key.items() if key not in outcomes}):
        if cache is not None:
            cache.put(trials_by_key[key], outcome)
        outcomes[key] = outcome
        report_progress(len(outcomes), len(trials_by_key))
    return [outcomes[key] for key in keys]


def _run_in_processes(trials: dict[str, Trial]) -> Iterable[tuple[str, TrialOutcome]]:
    """Outcomes as trials finish; the largest trials start first, so that they don't run alone at the end."""
    if not trials:
        return
    count, others = min(len(trials), os.cpu_count() or 1), set(active_children())
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_initialise_process) as pool:
        largest = sorted(trials, key=lambda key: -trials[key].plan.workers)
        with _ignore_interrupts():
            keys: dict[Future[TrialOutcome], str] = {pool.submit(trials[key].run): key for key in largest}
        try:
            for future in as_completed(keys):
                yield keys[future], future.result()
        except BrokenProcessPool:
            raise DistributedError("a simulating process died; is there enough memory?") from None
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which the parent process handles."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set signals
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _initialise_process() -> None:
    """Initialise a process that ends when its parent does, for whatever reason."""
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
