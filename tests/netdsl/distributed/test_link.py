from __future__ import annotations

import pytest

from netdsl.distributed.link import ExchangeKind, Link, SharedMemoryLink, SparkLink, TwoLevelLink

LINK = Link(bandwidth=100.0, latency=0.5)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (ExchangeKind.MEAN, 2 * 4 * (0.5 + 7 / 5)),  # a ring: twice four steps, each with a fifth
        (ExchangeKind.REDUCE, 3 * (0.5 + 7)),  # a tree of three levels, each with everything
        (ExchangeKind.BROADCAST, 3 * 0.5 + 7),  # all send on what they have
        (ExchangeKind.SEND, 0.5 + 7),
        (ExchangeKind.BARRIER, 2 * 3 * 0.5),  # up a tree and down again
    ],
)
def test_what_700_bytes_take_among_five(kind: ExchangeKind, wanted: float) -> None:
    assert LINK.seconds(kind, 5, 700) == pytest.approx(wanted)


@pytest.mark.parametrize(("mebibytes", "published"), [(7, 1.1), (83, 9.2), (223, 23.6), (491, 51.1)])
def test_binary_trees_over_gigabit_take_what_the_mpca_paper_measured(mebibytes: int, published: float) -> None:
    link = SparkLink(125e6, codec=170e6, job=0.36, depth=3)
    assert link.seconds(ExchangeKind.MEAN, 8, mebibytes << 20) == pytest.approx(published, rel=0.03)  # as read there


SPARK = {"bandwidth": 100.0, "latency": 0.5, "codec": 70.0, "job": 3.0}  # 700 bytes: 7.5 to send, 10 to serialise


@pytest.mark.parametrize(
    ("depth", "size", "wanted"),
    [
        (1, 5, 3 + 10 + 5 * 17.5),  # all send to the driver
        (2, 4, 3 + 10 + 4 * 17.5),  # so few make no tree
        (2, 9, 3 + 10 + 2 * 17.5 + 10 + 3 * 17.5),  # by threes to one of them, who are three
        (3, 8, 3 + 10 + 17.5 + 10 + 4 * 17.5),
    ],
)
def test_a_reduction_on_spark_is_a_tree_as_spark_makes_it(depth: int, size: int, wanted: float) -> None:
    link = SparkLink(**SPARK, depth=depth)
    assert link.seconds(ExchangeKind.REDUCE, size, 700) == pytest.approx(wanted)
    broadcast = link.seconds(ExchangeKind.BROADCAST, size, 700)
    assert broadcast == pytest.approx(Link(100.0, 0.5).seconds(ExchangeKind.BROADCAST, size, 700) + 20)
    assert link.seconds(ExchangeKind.MEAN, size, 700) == pytest.approx(wanted + broadcast)


def test_workers_that_send_to_each_other_need_no_spark() -> None:
    assert SparkLink(**SPARK).seconds(ExchangeKind.SEND, 2, 700) == LINK.seconds(ExchangeKind.SEND, 2, 700)


@pytest.mark.parametrize("kind", [ExchangeKind.MEAN, ExchangeKind.REDUCE, ExchangeKind.BROADCAST, ExchangeKind.BARRIER])
def test_one_worker_alone_exchanges_nothing(kind: ExchangeKind) -> None:
    assert LINK.seconds(kind, 1, 700) == 0.0


def test_devices_of_a_machine_exchange_inside_it_and_machines_over_the_network() -> None:
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
