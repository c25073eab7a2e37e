"""The spec of a run, which the first rank has and all ranks need."""

from __future__ import annotations

import msgspec
import numpy as np

from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.external import ExternalWorker
from netdsl.mpi.library import forget_shared_memory, mpi, world
from netdsl.ranks import Ranks


def this_rank() -> ExternalWorker:
    """Which worker this process is, as MPI says."""
    ranks = world()
    node = ranks.Split_type(mpi().COMM_TYPE_SHARED)
    worker = ExternalWorker.of_ranks(Ranks(ranks.rank, ranks.size, node.rank, node.size))
    node.Free()
    return worker


def share(spec: WorkerSpec | None) -> WorkerSpec:
    """The first rank's spec, with this rank in it; all ranks must call this, the others with None."""
    forget_shared_memory()
    text = np.frombuffer(b"" if spec is None else spec.text().encode(), np.uint8)
    length = np.array([text.size])
    world().Bcast(length)
    received = text if world().rank == 0 else np.empty(length[0], np.uint8)
    world().Bcast(received)
    worker = this_rank()
    spec = WorkerSpec.of(received.tobytes().decode())
    return msgspec.structs.replace(spec, rank=worker.rank, local_rank=worker.local_rank)
