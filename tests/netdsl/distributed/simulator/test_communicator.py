from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from netdsl.distributed.simulator.communicator import Network, SimulatedCommunicator
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.simulator.world import World

LINK = Link(bandwidth=4.0)  # a value a second


def together(size: int, work: Callable[[SimulatedCommunicator, World], Any]) -> tuple[list[Any], World]:
    world = World(size)
    network = Network(world, LINK)
    return world.run(lambda rank: work(SimulatedCommunicator(network, rank), world)), world


def test_a_weighted_mean_begins_when_the_last_one_comes_and_takes_a_rings_time() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], float, float, int]:
        world.spend(each.rank, each.rank * 1.5)
        buffer = torch.tensor([1.0, 2.0, 6.0]) * (each.rank + 1)
        each.mean(buffer, weight=1.0 + 2 * each.rank).wait()
        return buffer.tolist(), each.traffic.waited, each.traffic.moved, each.traffic.bytes

    found, world = together(2, work)
    assert found == [([1.75, 3.5, 10.5], 1.5, 3.0, 12), ([1.75, 3.5, 10.5], 0.0, 3.0, 12)]
    assert world.now == [4.5, 4.5]


def test_only_the_root_has_what_was_reduced_and_all_have_what_it_broadcasts() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], list[float]]:
        buffer = torch.tensor([2.0, 4.0]) * (each.rank + 1)
        each.reduce(buffer, root=1).wait()
        reduced = buffer.tolist()
        each.broadcast(buffer, root=2).wait()
        return reduced, buffer.tolist()

    found, _ = together(3, work)
    assert [reduced for reduced, _ in found] == [[2.0, 4.0], [4.0, 8.0], [6.0, 12.0]]
    assert [broadcast for _, broadcast in found] == [[6.0, 12.0]] * 3


def test_lanes_are_busy_at_once_and_one_lane_is_not() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[bool, float]:
        first, second = each.mean(torch.ones(2), lane=0), each.mean(torch.ones(3), lane=0)
        beside = each.mean(torch.ones(4), lane=1)
        beside.wait()
        early = first.done() and not second.done()
        second.wait()
        return early, world.now[each.rank]

    found, _ = together(2, work)
    assert found == [(True, 5.0)] * 2


def test_two_workers_send_each_other() -> None:
    def work(each: SimulatedCommunicator, world: World) -> list[float]:
        mine, theirs = torch.full((3,), float(each.rank)), torch.empty(3)
        sent = each.send(mine, to=1 - each.rank)
        each.receive(theirs, source=1 - each.rank).wait()
        sent.wait()
        return theirs.tolist()

    assert together(2, work)[0] == [[1.0] * 3, [0.0] * 3]


def test_a_shared_variable_receives_one_worker_after_the_other_and_answers_meanwhile() -> None:
    def work(each: SimulatedCommunicator, world: World) -> tuple[list[float], float, float]:
        variable = each.shared_variable(torch.zeros(3))
        buffer = torch.full((3,), 8.0)
        variable.exchange(buffer, 0.25)
        seen = torch.empty(3)
        variable.read(seen)
        return buffer.tolist(), seen[0].item(), world.now[each.rank]

    found, _ = together(2, work)
    assert found == [([6.0] * 3, 2.0, 6.0), ([6.5] * 3, 3.5, 9.0)]


def test_numbers_of_all_are_gathered_by_rank() -> None:
    found, _ = together(3, lambda each, world: each.gather([each.rank, 7.0]))
    assert found == [[[0, 7.0], [1, 7.0], [2, 7.0]]] * 3


def test_whoever_is_alone_sends_nothing() -> None:
    def work(each: SimulatedCommunicator, world: World) -> int:
        each.mean(torch.ones(5)).wait()
        return each.traffic.bytes

    assert together(1, work)[0] == [0]


def test_a_mean_that_not_all_ask_for_is_an_error_for_those_who_do() -> None:
    def work(each: SimulatedCommunicator, world: World) -> None:
        if each.rank:
            each.mean(torch.ones(2)).wait()

    with pytest.raises(Exception, match="workers \\[0\\] ended"):
        together(2, work)
