"""Clients, their places and their rates."""

from __future__ import annotations

import pytest

from zoo.serving.clients import Place, Places, RateLimit, client_of


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


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("not an address", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_client_is_an_address_or_a_network(address, client) -> None:
    assert client_of(address) == client


def take(places: Places, client: str, lost: list[str], name: str = "") -> Place | None:
    return places.take(client, lambda: lost.append(name or client))


def test_the_place_that_waited_longest_gives_way() -> None:
    places, lost = Places(3, 1), list[str]()
    first, second = take(places, "a", lost, "first"), take(places, "a", lost, "second")
    assert first and second and take(places, "b", lost)
    places.mark(first, waits=False)
    assert take(places, "c", lost) and lost == ["second"] and second.is_lost
    assert take(places, "d", lost) and lost == ["second", "b"]
    assert places.taken == 3 and not places.is_full


def test_no_place_gives_way_while_the_server_works_for_it() -> None:
    places, lost = Places(2, 1), list[str]()
    for client in "ab":
        place = take(places, client, lost)
        assert place
        places.mark(place, waits=False)
    assert take(places, "c", lost) is None and places.is_full and not lost
    places.release(place)
    places.release(place)
    assert places.taken == 1 and take(places, "c", lost)


def test_a_client_that_has_its_share_displaces_itself() -> None:
    places, lost = Places(4, 0.5), list[str]()
    for name in ("1", "2", "3"):
        place = take(places, "a", lost, name)
        assert place
    assert lost == ["1"] and places.taken == 2
    assert places.take("a", lambda: None, has_share=False) and places.taken == 3
    for each in list(places._clients["a"]):
        places.mark(each, waits=False)
    assert take(places, "a", lost, "4") is None and take(places, "b", lost)
