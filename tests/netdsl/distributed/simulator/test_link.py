from __future__ import annotations

import pytest

from netdsl.distributed.simulator.link import ExchangeKind, Link

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


@pytest.mark.parametrize("kind", [ExchangeKind.MEAN, ExchangeKind.REDUCE, ExchangeKind.BROADCAST, ExchangeKind.BARRIER])
def test_one_worker_alone_exchanges_nothing(kind: ExchangeKind) -> None:
    assert LINK.seconds(kind, 1, 700) == 0.0
