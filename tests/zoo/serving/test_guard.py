"""The limit on a client's requests."""

from __future__ import annotations

import pytest

from zoo.serving.guard import RateLimit


def test_each_client_may_send_requests_at_the_given_rate() -> None:
    now = [100.0]
    limit = RateLimit(2, lambda: now[0])
    assert [limit.wait_of("a") for _ in range(3)] == [0, 0, 0.5]
    assert limit.wait_of("b") == 0
    now[0] += 0.25
    assert limit.wait_of("a") == pytest.approx(0.25)
    now[0] += 0.25
    assert limit.wait_of("a") == 0
    now[0] += 1000
    assert [limit.wait_of("a") == 0 for _ in range(3)] == [True, True, False]


def test_many_clients_take_no_more_memory() -> None:
    limit = RateLimit(1, lambda: 0.0)
    for client in range(10_000):
        assert limit.wait_of(str(client)) == 0
    assert len(limit._clients) < 5000
