"""Connections that haven't shown the token are few, and the oldest one gives way."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from netdsl.distributed.control.reception import Reception


@pytest.fixture
def knock():
    """Return a function that lets a peer's new connection wait, and returns its two ends."""
    ends = []

    def knock(reception, peer):
        here, there = socket.socketpair()
        ends.extend((here, there))
        there.setblocking(False)
        reception.enter(here, peer)
        return here, there

    yield knock
    for end in ends:
        end.close()


def is_ended(there):
    try:
        return there.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_oldest_connection_of_a_peer_gives_way(knock):
    reception = Reception(per_peer=2, in_all=9)
    ends = [knock(reception, "a stranger") for _ in range(3)]
    assert [is_ended(there) for _, there in ends] == [True, False, False]
    assert [reception.leave(here, "a stranger") for here, _ in ends] == [False, True, True]


def test_a_peer_does_not_push_out_another(knock):
    reception = Reception(per_peer=2, in_all=9)
    _, worker = knock(reception, "a worker")
    for _ in range(5):
        knock(reception, "a stranger")
    assert not is_ended(worker)


def test_many_peers_push_out_the_one_with_the_most_connections(knock):
    reception = Reception(per_peer=4, in_all=5)
    _, worker = knock(reception, "a worker")
    strangers = [knock(reception, "a stranger")[1] for _ in range(4)]
    knock(reception, "another worker")
    assert [is_ended(each) for each in (worker, *strangers)] == [False, True, False, False, False]


def test_a_connection_that_has_left_makes_room(knock):
    reception = Reception(per_peer=1, in_all=9)
    here, worker = knock(reception, "a machine")
    assert reception.leave(here, "a machine")
    knock(reception, "a machine")
    assert not is_ended(worker)
    with closing(here):
        assert not reception.leave(here, "a machine")
