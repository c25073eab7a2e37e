"""Connections to other machines are encrypted, and the server proves that it belongs to the run."""

from __future__ import annotations

import os
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from netdsl.distributed.control.encryption import EncryptedSocket, new_context
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.protocol import receive_exactly
from tests.patience import PATIENCE

LONG = 3_000_001


def deadline():
    return time.monotonic() + PATIENCE


@pytest.fixture
def ends():
    """Return both ends of an encrypted connection, and the raw connection of a listener between them."""
    identity = Identity.new()
    context, fingerprint = identity.context(), identity.fingerprint
    here, there = socket.socketpair()
    server = EncryptedSocket(here, context, server=True)
    client = EncryptedSocket(there, new_context(ssl.PROTOCOL_TLS_CLIENT), server=False)
    with closing(server), closing(client), ThreadPoolExecutor(1) as pool:
        shaking = pool.submit(server.shake_hands, deadline())
        client.shake_hands(deadline(), fingerprint)
        shaking.result(PATIENCE)
        yield server, client


def test_both_ends_send_long_data_at_once(ends):
    """A thread sends while another one receives, in both directions."""
    data = [os.urandom(LONG), os.urandom(LONG)]
    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(end.sendall, sent) for end, sent in zip(ends, data, strict=True)]
        received = [pool.submit(receive_exactly, end, LONG) for end in reversed(ends)]
        assert [each.result(PATIENCE) for each in received] == data
        assert [each.result(PATIENCE) for each in sending] == [None, None]


def test_the_end_of_a_connection_is_noticed(ends):
    server, client = ends
    server.sendall(b"last")
    server.shutdown(socket.SHUT_RDWR)
    assert client.recv(9) == b"last"
    assert client.recv(9) == b""


def test_a_server_with_another_certificate_is_refused_before_anything_is_sent():
    context = Identity.new().context()
    here, there = socket.socketpair()
    with here, there, ThreadPoolExecutor(1) as pool:
        shaking = pool.submit(EncryptedSocket(here, context, server=True).shake_hands, deadline())
        client = EncryptedSocket(there, new_context(ssl.PROTOCOL_TLS_CLIENT), server=False)
        with pytest.raises(ConnectionError, match="another program answers there, with another certificate"):
            client.shake_hands(deadline(), "0" * 64)
        shaking.result(PATIENCE)


@pytest.mark.parametrize("data", [b"0" * 32, b"\x16\x03\x01\xff\xff" + bytes(100), b"GET / HTTP/1.1\r\n\r\n"])
def test_nonsense_ends_a_handshake(data):
    context = Identity.new().context()
    here, there = socket.socketpair()
    with here, there:
        there.sendall(data)
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(OSError, match=r"SSL|closed"):
            EncryptedSocket(here, context, server=True).shake_hands(deadline())


def test_older_versions_of_tls_are_refused():
    context = Identity.new().context()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    here, there = socket.socketpair()
    with here, there, ThreadPoolExecutor(1) as pool:
        shaking = pool.submit(EncryptedSocket(here, context, server=True).shake_hands, deadline())
        with pytest.raises(ssl.SSLError):
            EncryptedSocket(there, old, server=False).shake_hands(deadline())
        with pytest.raises(ssl.SSLError):
            shaking.result(PATIENCE)


def test_each_server_has_its_own_certificate():
    assert Identity.new().fingerprint != Identity.new().fingerprint
