"""The task of a worker."""

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
    """Run a worker. Its errors are reported to the supervisor; only a crash fails the task as well."""
    (rank,) = ranks
    spec = msgspec.structs.replace(WorkerSpec.of(text), rank=rank, local_rank=_local_rank(rank))
    with _in_folder(spec.folder), suppress(CaffeError):
        run_worker(spec)
    yield rank


def _local_rank(rank: int) -> int:
    """The number of tasks with lower ranks on this machine."""
    hosts = [info.address.rpartition(":")[0] for info in BarrierTaskContext.get().getTaskInfos()]
    return hosts[:rank].count(hosts[rank])


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Work in the driver's folder, and keep torch's many objects out of garbage collections."""
    before = Path.cwd()
    os.chdir(folder)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.collect()  # frees the connections of nets that are part of cycles
        os.chdir(before)
