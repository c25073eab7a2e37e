"""A rank of mpiexec that checks its exchanges, and fails if one is wrong: `mpiexec -n 3 python exchanges.py`.

The checks run twice. The second time the ranks pretend to be on several machines, with two on each.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from netdsl.distributed.transports.weighted_mean import add_up, scales_of
from netdsl.errors import DistributedError, PeerLostError
from netdsl.mpi.communicator import MpiCommunicator
from netdsl.mpi.library import PIECE, world

LENGTHS = [0, 1, 63, 5_003, 2 * PIECE // 4 + 17]
RANK, SIZE = world().rank, world().size


def own(rank: int, length: int, kind: torch.dtype = torch.float32) -> Tensor:
    """Return a rank's values."""
    values = torch.randn(length, generator=torch.Generator().manual_seed(rank), dtype=torch.float64)
    return (values * 1000).to(kind)


def mean_in_order(length: int, kind: torch.dtype) -> Tensor:
    """Return the exact mean that every transport computes if rank r has weight r + 1."""
    mean = torch.empty(length, dtype=kind).numpy()
    scales = scales_of([rank + 1.0 for rank in range(SIZE)], "a test")
    add_up([own(rank, length, kind).numpy() for rank in range(SIZE)], scales, mean)
    return torch.from_numpy(mean)


def means(communicator: MpiCommunicator, same: Callable[[Tensor, Tensor], bool]) -> None:
    for length in LENGTHS:
        for kind in (torch.float32, torch.float64, torch.int64):
            mean, reduced = own(RANK, length, kind), own(RANK, length, kind)
            communicator.mean(mean, RANK + 1.0, lane=1)
            communicator.reduce(reduced, RANK + 1.0, root=SIZE - 1, lane=1).wait()
            assert same(mean, mean_in_order(length, kind)), (length, kind)
            assert torch.equal(reduced, mean if RANK == SIZE - 1 else own(RANK, length, kind)), (length, kind)


def broadcasts_and_sends(communicator: MpiCommunicator) -> None:
    for length in LENGTHS:
        buffer, received = own(RANK, length, torch.bfloat16), torch.empty(length, dtype=torch.bfloat16)
        before = (RANK - 1) % SIZE
        # one lane each, since no rank may wait for all others
        sent = communicator.send(buffer, to=(RANK + 1) % SIZE, lane=RANK)
        communicator.receive(received, source=before, lane=before).wait()
        sent.wait()
        assert torch.equal(received, own(before, length, torch.bfloat16))
        communicator.broadcast(buffer, root=1).wait()
        assert torch.equal(buffer, own(1, length, torch.bfloat16))
    assert communicator.gather([RANK, 0.5]) == [[rank, 0.5] for rank in range(SIZE)]


def variables(communicator: MpiCommunicator) -> None:
    variable = communicator.shared_variable(torch.full((1_009,), 2.0 + RANK, dtype=torch.float64))
    buffer = torch.full((1_009,), 8.0 * RANK, dtype=torch.float64)
    for turn in range(20):
        variable.exchange(buffer, 0.25 if turn % 2 else 0.5).wait()
    communicator.barrier()
    variable.read(values := torch.empty_like(buffer))
    total = sum(first for (first,) in communicator.gather([buffer[0].item()])) + values[0].item()
    np.testing.assert_allclose(total, 2.0 + 8.0 * sum(range(SIZE)), rtol=1e-12)  # no exchange was lost


def mistakes(communicator: MpiCommunicator) -> None:
    with pytest.raises(DistributedError, match="all workers must have the same net"):
        communicator.mean(torch.ones(3 + RANK), lane=0).wait()
    with pytest.raises(DistributedError, match="all must pass the same number"):
        communicator.gather([0.0] * RANK)


def interruption(communicator: MpiCommunicator) -> None:
    """Check that ranks waiting for an absent rank are released."""
    if RANK == 0:
        handle = communicator.mean(torch.ones(5), lane=2)
        communicator.interruption.happen("worker 1 was lost")
        with pytest.raises(PeerLostError, match="worker 1 was lost"):
            handle.wait()


def main() -> None:
    exchanges(MpiCommunicator(world()), torch.equal)
    exchanges(MpiCommunicator(world(), node=world().Split(RANK // 2, RANK)), near)


def exchanges(communicator: MpiCommunicator, same: Callable[[Tensor, Tensor], bool]) -> None:
    means(communicator, same)
    broadcasts_and_sends(communicator)
    variables(communicator)
    communicator.close()
    communicator = MpiCommunicator(world())
    mistakes(communicator)
    interruption(communicator)
    sys.stdout.write("right\n")
    sys.stdout.flush()
    world().Barrier()


def near(values: Tensor, others: Tensor) -> bool:
    return torch.allclose(values.double(), others.double(), rtol=1e-6, atol=1e-2)  # the values are around 1000


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        world().Abort(1)  # the other ranks wait for this one
