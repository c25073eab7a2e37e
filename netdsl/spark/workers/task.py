"""A worker's task, from its spec to its end."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from pyspark import BarrierTaskContext

from caffe_proto.errors import CaffeError
from netdsl.distributed.launchers.launcher import WorkerSpec
from netdsl.distributed.run_worker import run_worker


def work(text: str, ranks: Iterable[int]) -> Iterator[int]:
    """Take part in a run. What goes wrong is told to the supervisor; only a crash fails the task as well."""
    (rank,) = ranks
    spec = msgspec.structs.replace(WorkerSpec.of(text), rank=rank, local_rank=_local_rank(rank))
    with _in_folder(spec.folder), suppress(CaffeError):
        run_worker(spec)
    yield rank


def _local_rank(rank: int) -> int:
    """How many tasks with lower ranks are on this machine."""
    hosts = [info.address.rpartition(":")[0] for info in BarrierTaskContext.get().getTaskInfos()]
    return hosts[:rank].count(hosts[rank])


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Work in the folder of the driver, and without torch's many objects in every garbage collection."""
    before = Path.cwd()
    os.chdir(folder)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.collect()  # lets go of connections that nets in circles have
        os.chdir(before)
