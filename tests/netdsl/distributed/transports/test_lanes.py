"""Slow pushes to a shared variable: which operations wait for them, and which don't."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
import torch
from torch import Tensor

from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.lanes import Lane, LaneVariable
from netdsl.errors import PeerLostError


class SlowValues:
    """Values to which nothing is added until the test allows it."""

    def __init__(self) -> None:
        self.values, self.free = torch.zeros(3), threading.Event()

    def read(self, values: Tensor) -> None:
        values.copy_(self.values)

    def write(self, values: Tensor) -> None:
        self.values.copy_(values)

    def add(self, values: Tensor) -> None:
        self.free.wait(10)
        self.values.add_(values)

    def leave(self) -> None:
        pass


def test_the_worker_continues_before_the_variable_has_moved() -> None:
    values = SlowValues()
    with closing(LaneVariable(values, Lane("variable"))) as variable:
        buffer = torch.full((3,), 8.0)
        handle = variable.exchange(buffer, 0.25)
        assert buffer.tolist() == [6.0] * 3
        assert not handle.done()
        buffer.fill_(-1.0)  # the buffer belongs to the worker again
        assert values.values.tolist() == [0.0] * 3
        values.free.set()
        handle.wait()
        assert values.values.tolist() == [2.0] * 3


def test_a_worker_that_waits_for_a_push_notices_a_lost_worker() -> None:
    values, interruption = SlowValues(), Interruption()
    with closing(LaneVariable(values, Lane("variable", interruption))) as variable:
        handle = variable.exchange(torch.ones(3), 0.5)
        interruption.happen("worker 1 is lost")
        with pytest.raises(PeerLostError, match="worker 1 is lost"):
            handle.wait()
        with pytest.raises(PeerLostError, match="worker 1 is lost"):
            variable.exchange(torch.ones(3), 0.5)
        values.free.set()


def stepping(seen: list[str], problem: Exception | None = None) -> Iterator[None]:
    """Note the thread of the first step and of the rest."""
    seen.append(threading.current_thread().name)
    if problem is not None:
        raise problem
    yield
    seen.append(threading.current_thread().name)


def test_the_calling_thread_takes_the_first_step_if_the_lane_is_idle() -> None:
    caller, seen = threading.current_thread().name, list[str]()
    with closing(Lane("lane")) as lane:
        lane.begin(stepping(seen)).wait()
    assert seen == [caller, "lane"]


def test_the_first_step_waits_for_earlier_operations() -> None:
    free, seen = threading.Event(), list[str]()
    with closing(Lane("lane")) as lane:
        lane.add(lambda: free.wait(10))
        handle = lane.begin(stepping(seen))
        assert not seen
        free.set()
        handle.wait()
    assert seen == ["lane", "lane"]


def test_a_problem_of_the_first_step_is_raised_by_waiting_and_no_later_operation_begins() -> None:
    seen = list[str]()
    with closing(Lane("lane")) as lane:
        with pytest.raises(PeerLostError, match="worker 1 is lost"):
            lane.begin(stepping(seen, PeerLostError("worker 1 is lost"))).wait()
        with pytest.raises(PeerLostError, match="worker 1 is lost"):
            lane.begin(stepping(seen)).wait()
    assert len(seen) == 1
