"""Workers find out who reaches whom, before they exchange."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from netdsl.distributed.control import peers
from netdsl.distributed.control.peers import GLOO_INTERFACE, Introduction, PeerDoor, exchange_address, unreached
from netdsl.distributed.control.protocol import Peer


@pytest.fixture
def door() -> Iterator[PeerDoor]:
    door = PeerDoor("127.0.0.2")
    yield door
    door.close()


def test_only_the_worker_that_was_meant_counts_as_reached(door: PeerDoor) -> None:
    peer = door.peer()
    another = Peer(peer.ip, peer.port, "0" * len(peer.secret))
    assert unreached({1: peer, 2: another}) == {2: "127.0.0.2 belongs to another machine"}
    door.close()
    ((rank, problem),) = unreached({1: peer}).items()
    assert rank == 1 and problem.startswith("127.0.0.2 refuses the connection")


def test_a_worker_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PROBE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ((_, problem),) = unreached({1: Peer(*silent.getsockname(), "0" * 32)}).items()
    assert problem.startswith("127.0.0.1 doesn't answer")


def test_a_door_stays_open_for_others_when_one_leaves(door: PeerDoor) -> None:
    peer = door.peer()
    for _ in range(3):
        socket.create_connection((peer.ip, peer.port)).close()
    assert unreached({1: peer}) == {}


def test_exchanges_arrive_at_the_interface_that_the_user_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GLOO_INTERFACE, raising=False)
    assert exchange_address("10.7.0.1") == "10.7.0.1"
    monkeypatch.setenv(GLOO_INTERFACE, "lo")
    assert exchange_address("10.7.0.1") == "127.0.0.1"
    monkeypatch.setenv(GLOO_INTERFACE, "nowhere0")
    with pytest.raises(OSError, match="names the interface nowhere0, which doesn't exist"):
        exchange_address("10.7.0.1")


def test_an_introduction_is_over_when_all_have_tried_to_reach_the_others() -> None:
    introduction = Introduction(1, {0, 2, 5})
    first, second = Peer("10.0.0.1", 1000, "a"), Peer("10.0.0.2", 1000, "b")
    assert not introduction.note_peer(0, first)
    assert not introduction.note_peer(2, second)
    assert introduction.note_peer(5, Peer(problem="has no network"))
    assert introduction.peers_of(0) == {2: second}
    assert introduction.peers_of(5) == {0: first, 2: second}
    introduction.note_tried(0, {2: "10.0.0.2 doesn't answer"})
    introduction.note_tried(2, {})
    assert not introduction.is_over()
    introduction.note_tried(5, {})
    assert introduction.is_over()
    assert introduction.problems() == {(5, 5): "has no network", (0, 2): "10.0.0.2 doesn't answer"}
