"""Connections whose clients wait, trickle, flood and don't read, over real sockets."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.zoo.models import classifier, photo
from tests.zoo.serving.attacks import ATTACKS, Attack, has_ended, port_of, strangers
from tests.zoo.serving.conftest import SETTINGS, serving
from tests.zoo.serving.test_server import ask, connected
from zoo.answers.answerer import Answerer
from zoo.serving.server import Server

FOREVER = 3600.0
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
every_attack = pytest.mark.parametrize("attack", [pytest.param(attack, id=name) for name, attack in ATTACKS.items()])


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return classifier(tmp_path_factory.mktemp("models") / "four")


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> bytes:
    return photo(tmp_path_factory.mktemp("images") / "1.jpg", 1).read_bytes()


@pytest.fixture(scope="module")
def hasty(model) -> Iterator[Server]:
    """A server with short deadlines and enough places."""
    with serving(model, replace(SETTINGS, seconds=0.4, idle=0.2)) as server:
        yield server


@pytest.fixture(scope="module")
def small(model) -> Iterator[Server]:
    """A server with few places and no deadlines."""
    with serving(model, replace(SETTINGS, queue=2, connections=8, seconds=FOREVER, idle=FOREVER)) as server:
        yield server


def refusals(server: Server, reason: str) -> int:
    text = ask(server, "metrics").body.decode()
    return int(re.search(rf'zoo_refusals_total{{reason="{reason}"}} (\d+)', text)[1])


@every_attack
def test_every_connection_ends(attack, hasty) -> None:
    end = time.monotonic() + PATIENCE
    with strangers(port_of(hasty), attack, 4) as connections:
        left = list(connections)
        while left:
            assert time.monotonic() < end, f"{len(left)} connections are still open"
            left = [connection for connection in left if not has_ended(connection, attack)]
            time.sleep(0.01)


@every_attack
def test_strangers_cannot_take_all_places(attack, small, image) -> None:
    with strangers(port_of(small), attack, 24):
        assert ask(small, "health").status == 200
        assert ask(small, "predict", image).status == 200
        assert ask(small, "metrics").status == 200
        assert ask(small, "ready").status == 200


def test_a_client_that_does_not_read_is_counted(hasty) -> None:
    attack = ATTACKS["answers that nobody reads"]
    before, end = refusals(hasty, "unread"), time.monotonic() + PATIENCE
    with strangers(port_of(hasty), attack, 1):
        while refusals(hasty, "unread") == before:
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "seconds", "idle", "status", "reason"),
    [
        ("a head byte by byte", FOREVER, 0.2, 408, "slow_head"),
        ("half a body", 0.2, FOREVER, 503, "slow"),
        ("another version of HTTP", FOREVER, FOREVER, 421, "host"),
        ("a flood of OPTIONS", FOREVER, FOREVER, 404, "path"),
        ("a body where none belongs", FOREVER, FOREVER, 400, "body"),
        # A client that still sends may not read the answer.
        ("many short headers", FOREVER, FOREVER, None, "head"),
        ("a long header", FOREVER, FOREVER, None, "malformed"),
        ("many small chunks", FOREVER, FOREVER, None, "malformed"),
        ("many small chunks in the next request", FOREVER, FOREVER, None, "malformed"),
        ("long chunk extensions", FOREVER, FOREVER, None, "malformed"),
    ],
)
def test_a_refusal_has_a_reason_and_is_counted(name, seconds, idle, status, reason, model) -> None:
    attack = Attack(ATTACKS[name].opening)
    with serving(model, replace(SETTINGS, seconds=seconds, idle=idle)) as server:
        with strangers(port_of(server), attack, 1) as (connection,):
            if status is not None:
                connection.settimeout(PATIENCE)
                assert connection.recv(12) == b"HTTP/1.1 %d" % status
                connection.setblocking(False)
            while not has_ended(connection, attack):
                time.sleep(0.01)
        assert refusals(server, reason) == 1


def test_a_slow_request_gives_way_to_a_new_one(small, image) -> None:
    before = refusals(small, "gave_way")
    with strangers(port_of(small), ATTACKS["half a body"], 2) as connections:
        while "zoo_open_requests 2" not in ask(small, "metrics").body.decode():
            time.sleep(0.01)
        assert ask(small, "predict", image).status == 200
        connections[0].settimeout(PATIENCE)
        answer = b"".join(iter(lambda: connections[0].recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 503 ") and b"gave way to others" in answer
    assert refusals(small, "gave_way") == before + 1


def test_one_client_cannot_take_all_predictions(model, image, monkeypatch) -> None:
    running, released, run = threading.Event(), threading.Event(), Answerer.run

    def wait_and_run(self, images):
        running.set()
        assert released.wait(PATIENCE)
        return run(self, images)

    monkeypatch.setattr(Answerer, "run", wait_and_run)
    settings = replace(SETTINGS, queue=2, share=0.5, wait=0, seconds=FOREVER)
    with serving(model, settings) as server, ThreadPoolExecutor(2) as pool:
        try:
            first = pool.submit(predict_from, "127.0.0.2", server, image)
            assert running.wait(PATIENCE)
            assert predict_from("127.0.0.2", server, image).startswith(b"HTTP/1.1 503 ")
            second = pool.submit(predict_from, "127.0.0.3", server, image)
            while "zoo_open_requests 2" not in ask(server, "metrics").body.decode():
                time.sleep(0.01)
            assert ask(server, "health").status == 200
        finally:
            released.set()
        assert first.result().startswith(b"HTTP/1.1 200 ") and second.result().startswith(b"HTTP/1.1 200 ")
        assert refusals(server, "queue") == 1


def predict_from(address: str, server: Server, image: bytes) -> bytes:
    """Return the answer to a prediction that is requested from an address."""
    with socket.create_connection(("127.0.0.1", port_of(server)), PATIENCE, (address, 0)) as connection:
        head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\nContent-Length: {len(image)}"
        connection.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode() + image)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_a_trusted_proxy_states_its_clients(model) -> None:
    from ipaddress import ip_network

    settings = replace(SETTINGS, rate=0.001, proxies=(ip_network("127.0.0.1"),))
    with serving(model, settings) as server:
        statuses = [ask(server, "card", X_Forwarded_For=client).status for client in ("192.0.2.1", "192.0.2.1", "::1")]
        assert statuses == [200, 429, 200]
    with serving(model, replace(settings, proxies=())) as server:
        statuses = [ask(server, "card", X_Forwarded_For=client).status for client in ("192.0.2.1", "192.0.2.2")]
        assert statuses == [200, 429]


def test_pipelined_requests_are_answered_in_order(hasty) -> None:
    with connected(hasty) as connection:
        connection.sendall(HEALTH * 30 + HEALTH.replace(b"health", b"nothing"))
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200"] * 30 + [b"404"]


def test_a_body_in_large_chunks_is_accepted(small, image) -> None:
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (image[:512], image[512:])) + b"0\r\n\r\n"
    with connected(small) as connection:
        head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked"
        connection.sendall(f"{head}\r\n\r\n".encode() + body)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
