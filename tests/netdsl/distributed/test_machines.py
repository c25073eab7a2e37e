from __future__ import annotations

from math import inf
from statistics import fmean

import pytest

from netdsl.distributed.machines import (
    ExchangeKind,
    Link,
    Machines,
    RelayLink,
    SharedMemoryLink,
    SparkLink,
    TwoLevelLink,
)
from netdsl.distributed.transports.links import link_over
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError

LINK = Link(bandwidth=100.0, latency=0.5)
SPARK = {"bandwidth": 100.0, "latency": 0.5, "codec": 70.0, "job": 3.0}  # 700 bytes: 7.5 to send, 10 to serialise


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (ExchangeKind.MEAN, 2 * 4 * (0.5 + 7 / 5)),  # a ring: twice four steps, each with a fifth of the data
        (ExchangeKind.REDUCE, 3 * (0.5 + 7)),  # a tree of three levels, each with all data
        (ExchangeKind.BROADCAST, 3 * 0.5 + 7),  # all forward what they have
        (ExchangeKind.SEND, 0.5 + 7),
        (ExchangeKind.BARRIER, 2 * 3 * 0.5),  # up a tree and down again
    ],
)
def test_five_workers_exchange_700_bytes_in_the_expected_time(kind: ExchangeKind, wanted: float) -> None:
    assert LINK.seconds(kind, 5, 700) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (ExchangeKind.MEAN, 2 * 0.5 + 5 * 7),  # the machine in the middle receives from all five, and sends to all
        (ExchangeKind.REDUCE, 2 * 0.5 + 5 * 7),
        (ExchangeKind.BROADCAST, 2 * 0.5 + 4 * 7),
        (ExchangeKind.SEND, 2 * 0.5 + 7),
        (ExchangeKind.BARRIER, 2 * 0.5),
    ],
)
def test_a_relays_own_connection_carries_everything(kind: ExchangeKind, wanted: float) -> None:
    link = link_over(Transport.RELAY, LINK.bandwidth, LINK.latency)
    assert link.seconds(kind, 5, 700) == pytest.approx(wanted)


def test_workers_of_a_machine_share_its_connection() -> None:
    """Each of four workers sends a quarter to each of the others, and receives three sums: two machines of two."""
    link = link_over(Transport.GLOO, 100.0, 0.5, per_machine=2)
    crossing = 2 * 2 * 2 * 700 / 4  # two workers each send two quarters to the other machine, twice
    assert link.seconds(ExchangeKind.MEAN, 4, 700) == pytest.approx(6 * 0.5 + crossing / 100)
    alone = link_over(Transport.MPI, 100.0, 0.5)
    assert all(alone.seconds(kind, 5, 700) == LINK.seconds(kind, 5, 700) for kind in ExchangeKind)


def test_machines_dont_share_memory() -> None:
    with pytest.raises(DistributedError, match="machines don't share memory; use --transport gloo"):
        link_over(Transport.SHARED_MEMORY, 100.0, 0.5)


@pytest.mark.parametrize(("mebibytes", "published"), [(7, 1.1), (83, 9.2), (223, 23.6), (491, 51.1)])
def test_binary_trees_over_gigabit_take_the_mpca_papers_times(mebibytes: int, published: float) -> None:
    link = SparkLink(125e6, codec=170e6, job=0.36, depth=3)
    # the figure as read from the paper
    assert link.seconds(ExchangeKind.MEAN, 8, mebibytes << 20) == pytest.approx(published, rel=0.03)


@pytest.mark.parametrize(
    ("depth", "size", "wanted"),
    [
        (1, 5, 3 + 10 + 5 * 17.5),  # all send to the driver
        (2, 4, 3 + 10 + 4 * 17.5),  # too few for a tree
        (2, 9, 3 + 10 + 2 * 17.5 + 10 + 3 * 17.5),  # in groups of three, which send to three
        (3, 8, 3 + 10 + 17.5 + 10 + 4 * 17.5),
    ],
)
def test_a_reduction_on_spark_uses_sparks_tree(depth: int, size: int, wanted: float) -> None:
    link = SparkLink(**SPARK, depth=depth)
    assert link.seconds(ExchangeKind.REDUCE, size, 700) == pytest.approx(wanted)
    broadcast = link.seconds(ExchangeKind.BROADCAST, size, 700)
    assert broadcast == pytest.approx(Link(100.0, 0.5).seconds(ExchangeKind.BROADCAST, size, 700) + 20)
    assert link.seconds(ExchangeKind.MEAN, size, 700) == pytest.approx(wanted + broadcast)


def test_workers_that_send_directly_pay_no_spark_costs() -> None:
    assert SparkLink(**SPARK).seconds(ExchangeKind.SEND, 2, 700) == LINK.seconds(ExchangeKind.SEND, 2, 700)


@pytest.mark.parametrize("kind", [ExchangeKind.MEAN, ExchangeKind.REDUCE, ExchangeKind.BROADCAST, ExchangeKind.BARRIER])
def test_one_worker_alone_exchanges_nothing(kind: ExchangeKind) -> None:
    assert LINK.seconds(kind, 1, 700) == 0.0
    assert RelayLink(100.0, 0.5).seconds(kind, 1, 700) == 0.0


def test_devices_exchange_within_machines_and_machines_over_the_network() -> None:
    inside = Link(1000.0, 0.01)
    link = TwoLevelLink(100.0, 0.5, inside=inside, per_machine=4)
    for kind in (ExchangeKind.MEAN, ExchangeKind.REDUCE, ExchangeKind.BROADCAST, ExchangeKind.BARRIER):
        assert link.seconds(kind, 8, 700) == inside.seconds(kind, 4, 700) + LINK.seconds(kind, 2, 700)
        assert link.seconds(kind, 9, 700) == inside.seconds(kind, 4, 700) + LINK.seconds(kind, 3, 700)
        assert link.seconds(kind, 3, 700) == inside.seconds(kind, 3, 700)
    assert link.seconds(ExchangeKind.SEND, 2, 700) == LINK.seconds(ExchangeKind.SEND, 2, 700)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (ExchangeKind.MEAN, 0.5 + 18 * 7),  # 4 x 3 quarters in and out, each read and written; 4 to add up, 2 of sums
        (ExchangeKind.REDUCE, 0.5 + 13 * 7),
        (ExchangeKind.BROADCAST, 0.5 + 8 * 7),  # each reads and writes everything
        (ExchangeKind.SEND, 0.5 + 4 * 7),
        (ExchangeKind.BARRIER, 2 * 2 * 0.5),
    ],
)
def test_workers_share_the_bandwidth_of_a_memory(kind: ExchangeKind, wanted: float) -> None:
    assert SharedMemoryLink(bandwidth=100.0, latency=0.5).seconds(kind, 4, 700) == pytest.approx(wanted)


def test_the_last_machines_are_the_slow_ones() -> None:
    machines = Machines(0.5, size=3, stragglers=1, slowdown=4.0)
    assert [machines(rank, 7) for rank in range(3)] == [0.5, 0.5, 2.0]


def test_jitter_is_random_but_repeatable() -> None:
    machines = Machines(2.0, size=2, jitter=0.3, seed=5)
    steps = [machines(rank, iteration) for rank in range(2) for iteration in range(500)]
    assert steps == [machines(rank, iteration) for rank in range(2) for iteration in range(500)]
    assert len(set(steps)) == len(steps)
    assert fmean(steps) == pytest.approx(2.0, rel=0.03)  # three standard deviations of the mean of 1000 such steps
    assert Machines(2.0, size=2, jitter=0.3, seed=6)(0, 0) != steps[0]


@pytest.mark.parametrize("wrong", [{"stragglers": 3}, {"step": -1.0}, {"slowdown": 0.0}, {"jitter": -0.1}, {"lost": 2}])
def test_invalid_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(DistributedError):
        Machines(**({"step": 1.0, "size": 2} | wrong))


def test_the_last_machines_are_lost_after_some_iterations() -> None:
    machines = Machines(0.5, size=3, lost=1, lost_after=7)
    assert [machines(rank, 7) for rank in range(3)] == [0.5] * 3
    assert [machines(rank, 8) for rank in range(3)] == [0.5, 0.5, inf]
