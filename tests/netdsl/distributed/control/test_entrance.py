"""Only connections with the greeting come in, and the others cost neither a thread nor much time."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from queue import SimpleQueue

import pytest

from netdsl.distributed.control.doors import open_door
from netdsl.distributed.control.entrance import Entrance
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.reception import Reception
from tests.patience import PATIENCE

HERE = NetworkPlace.at("127.0.0.1")


class OpenEntrance:
    """An entrance at a port, and the connections that it has let in."""

    def __init__(self, patience):
        self.door = open_door(HERE, Identity.new())
        self.greeting, self.let_in = self.door.greeting.encode(), SimpleQueue()
        self.entrance = Entrance(self.door, Reception(), lambda *given: self.let_in.put(given), patience)

    def connect(self):
        return socket.create_connection(self.door.listener.getsockname()[:2], PATIENCE)

    def close(self):
        self.entrance.close()  # may be closed already
        self.door.close()


@pytest.fixture
def opened():
    with ExitStack() as stack:

        def opened(patience=PATIENCE):
            made = OpenEntrance(patience)
            stack.callback(made.close)
            return made

        yield opened


def test_a_greeting_in_parts_leads_in_and_the_bytes_behind_it_stay(opened):
    here = opened()
    with here.connect() as worker:
        worker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        worker.sendall(here.greeting[:5])
        worker.sendall(here.greeting[5:] + b"more")
        connection, peer, _ = here.let_in.get(timeout=PATIENCE)
        connection.settimeout(PATIENCE)
        with connection:
            assert (connection.recv(99), peer) == (b"more", "127.0.0.1")


def test_other_words_end_a_connection(opened):
    here = opened()
    for words in (b"0" * len(here.greeting), here.greeting[:-1] + b"x"):
        with here.connect() as stranger:
            stranger.sendall(words)
            assert stranger.recv(1) == b""
    with here.connect() as stranger:
        stranger.sendall(here.greeting[:-1])
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(1) == b""
    assert here.let_in.empty()


def test_silence_ends_a_connection_at_the_deadline(opened):
    here = opened(patience=0.05)
    with here.connect() as stranger:
        assert stranger.recv(1) == b""
    assert here.let_in.empty()


def test_strangers_cost_no_thread_and_do_not_keep_a_worker_out(opened):
    here, threads = opened(), threading.active_count()
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(here.connect())
        worker = stack.enter_context(here.connect())
        worker.sendall(here.greeting)
        connection, _, _ = here.let_in.get(timeout=PATIENCE)
        connection.close()
        assert threading.active_count() == threads


def test_closing_ends_the_thread_and_the_connections_that_wait(opened):
    here = opened()
    with here.connect() as stranger, here.connect() as worker:
        worker.sendall(here.greeting)
        here.let_in.get(timeout=PATIENCE)[0].close()  # the stranger was accepted before
        here.entrance.close()
        assert stranger.recv(1) == b""
