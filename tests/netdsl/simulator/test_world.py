from __future__ import annotations

import pytest
import torch

from netdsl.errors import DistributedError, PeerLostError
from netdsl.simulator.world import PendingEvent, World


def test_the_worker_furthest_behind_continues() -> None:
    world, order = World(3), []

    def work(rank: int) -> None:
        for _ in range(2):
            world.spend(rank, [5.0, 2.0, 3.0][rank])
            order.append((rank, world.now[rank]))

    world.run(work)
    assert order == [(1, 2.0), (2, 3.0), (1, 4.0), (0, 5.0), (2, 6.0), (0, 10.0)]


def test_a_waiting_workers_clock_advances_to_the_end_of_the_wait() -> None:
    world, awaited = World(2), PendingEvent("it")

    def work(rank: int) -> float:
        if rank == 0:
            world.wait(rank, awaited)
        else:
            world.spend(rank, 2.0)
            world.schedule(awaited, 7.0)
        return world.now[rank]

    assert world.run(work) == [7.0, 2.0]


def test_each_worker_has_its_own_random_numbers() -> None:
    def drawn(size: int) -> list[list[float]]:
        world = World(size)

        def work(rank: int) -> list[float]:
            torch.manual_seed(rank)
            found = []
            for _ in range(3):
                found.append(torch.rand(()).item())
                world.spend(rank, 1.0 + rank)
            return found

        return world.run(work)

    before = torch.get_rng_state()
    assert drawn(3)[:2] == drawn(2)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_error_in_one_worker_ends_all() -> None:
    world = World(3)

    def work(rank: int) -> None:
        world.spend(rank, 1.0)
        if rank == 1:
            raise DistributedError("its own")
        world.wait(rank, PendingEvent("what never comes"))

    with pytest.raises(DistributedError, match="its own"):
        world.run(work)


def test_waiting_for_an_ended_worker_is_an_error() -> None:
    world = World(2)

    def work(rank: int) -> None:
        if rank == 1:
            world.wait(rank, PendingEvent("mean"))

    with pytest.raises(PeerLostError, match=r"workers \[0\] ended while others were waiting for them: \{1: 'mean'\}"):
        world.run(work)
