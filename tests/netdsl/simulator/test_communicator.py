from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from netdsl.distributed.machines import Link
from netdsl.errors import PeerLostError
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.world import World

LINK = Link(bandwidth=4.0)  # one value per second


def together(size: int, work: Callable[[SimulatedCommunicator, World], Any]) -> tuple[list[Any], World]:
    world = World(size)
    network = Network(world, LINK)
    return world.run(lambda rank: work(SimulatedCommunicator(network, rank), world)), world


def test_a_weighted_mean_starts_with_the_last_worker_and_takes_a_rings_time() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], float, float, int]:
        world.spend(each.rank, each.rank * 1.5)
        buffer = torch.tensor([1.0, 2.0, 6.0]) * (each.rank + 1)
        each.mean(buffer, weight=1.0 + 2 * each.rank).wait()
        return buffer.tolist(), each.traffic.waited, each.traffic.moved, each.traffic.bytes

    found, world = together(2, work)
    assert found == [([1.75, 3.5, 10.5], 1.5, 3.0, 12), ([1.75, 3.5, 10.5], 0.0, 3.0, 12)]
    assert world.now == [4.5, 4.5]


def test_only_the_root_gets_a_reduction_and_all_get_its_broadcast() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], list[float]]:
        buffer = torch.tensor([2.0, 4.0]) * (each.rank + 1)
        each.reduce(buffer, root=1).wait()
        reduced = buffer.tolist()
        each.broadcast(buffer, root=2).wait()
        return reduced, buffer.tolist()

    found, _ = together(3, work)
    assert [reduced for reduced, _ in found] == [[2.0, 4.0], [4.0, 8.0], [6.0, 12.0]]
    assert [broadcast for _, broadcast in found] == [[6.0, 12.0]] * 3


def test_different_lanes_overlap_and_a_single_lane_does_not() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[bool, float]:
        first, second = each.mean(torch.ones(2), lane=0), each.mean(torch.ones(3), lane=0)
        beside = each.mean(torch.ones(4), lane=1)
        beside.wait()
        early = first.done() and not second.done()
        second.wait()
        return early, world.now[each.rank]

    found, _ = together(2, work)
    assert found == [(True, 5.0)] * 2


def test_two_workers_can_send_to_each_other() -> None:
    def work(each: SimulatedCommunicator, world: World) -> list[float]:
        mine, theirs = torch.full((3,), float(each.rank)), torch.empty(3)
        sent = each.send(mine, to=1 - each.rank)
        each.receive(theirs, source=1 - each.rank).wait()
        sent.wait()
        return theirs.tolist()

    assert together(2, work)[0] == [[1.0] * 3, [0.0] * 3]


def test_a_shared_variable_serves_one_worker_at_a_time_and_pushes_do_not_block() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], float, bool, float, float]:
        variable = each.shared_variable(torch.zeros(3))
        buffer = torch.full((3,), 8.0)
        handle = variable.exchange(buffer, 0.25)
        returned, pending = world.now[each.rank], not handle.done()
        variable.read(seen := torch.empty(3))  # includes its own change
        handle.wait()
        return buffer.tolist(), returned, pending, seen[0].item(), world.now[each.rank]

    found, _ = together(2, work)
    assert found == [([6.0] * 3, 3.0, True, 2.0, 6.0), ([6.5] * 3, 6.0, True, 3.5, 9.0)]


def test_no_change_is_lost_while_others_are_under_way() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[Tensor, Tensor]:
        variable = each.shared_variable(torch.full((3,), 5.0, dtype=torch.float64))
        buffer = torch.full((3,), 10.0 * each.rank, dtype=torch.float64)
        for turn in range(7):
            world.spend(each.rank, 2.0 + each.rank + turn % 3)
            handle = variable.exchange(buffer, 0.3)
        handle.wait()
        each.barrier()
        variable.read(seen := torch.empty(3, dtype=torch.float64))
        return buffer, seen

    found, _ = together(3, work)
    for _, seen in found:
        torch.testing.assert_close(sum(buffer for buffer, _ in found) + seen, torch.full_like(seen, 5.0 + 30.0))


def test_the_next_exchange_comes_after_the_push_of_the_last() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[float, float]:
        variable = each.shared_variable(torch.zeros(3))
        variable.exchange(torch.ones(3), 0.5)  # the pull ends at 3, the push at 6
        buffer = torch.ones(3)
        variable.exchange(buffer, 0.5)
        return buffer[0].item(), world.now[each.rank]

    assert together(1, work)[0] == [(0.75, 9.0)]


def test_workers_continue_without_a_lost_one() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], float, list[list[float]]]:
        world.spend(each.rank, 1.0)
        buffer = torch.full((2,), 2.0 * each.rank)
        if each.rank == 1:
            world.spend(each.rank, 1.5)
            world.spend(each.rank, math.inf)
        each.mean(buffer).wait()
        return buffer.tolist(), each.traffic.waited, each.gather([each.rank])

    found, world = together(3, work)
    assert found == [([2.0, 2.0], 1.5, [[0], [2]])] * 2
    assert world.lost == {1}


def test_the_loss_of_a_required_worker_is_an_error() -> None:
    def work(each: SimulatedCommunicator, world: World) -> None:
        if each.rank == 0:
            world.spend(each.rank, math.inf)
        each.broadcast(torch.ones(2)).wait()

    with pytest.raises(PeerLostError, match="worker 0 is lost"):
        together(3, work)


def test_numbers_of_all_are_gathered_by_rank() -> None:
    found, _ = together(3, lambda each, world: each.gather([each.rank, 7.0]))
    assert found == [[[0, 7.0], [1, 7.0], [2, 7.0]]] * 3


def test_a_single_worker_sends_nothing() -> None:
    def work(each: SimulatedCommunicator, world: World) -> int:
        each.mean(torch.ones(5)).wait()
        return each.traffic.bytes

    assert together(1, work)[0] == [0]


def test_a_mean_that_some_workers_skip_is_an_error_for_the_others() -> None:
    def work(each: SimulatedCommunicator, world: World) -> None:
        if each.rank:
            each.mean(torch.ones(2)).wait()

    with pytest.raises(Exception, match="workers \\[0\\] ended"):
        together(2, work)
