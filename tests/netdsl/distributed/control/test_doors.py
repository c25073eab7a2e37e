"""Processes of other users aren't heard at a local socket, and a network port answers only in TLS."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections import deque
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from netdsl.distributed.control import address as control_address
from netdsl.distributed.control import doors
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.encryption import new_context
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.server import ControlServer
from netdsl.errors import DistributedError, PeerLostError
from tests.patience import PATIENCE

HERE = NetworkPlace.at("127.0.0.1")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def opened_by(server):
    """Return the lines of /proc for listening TCP sockets that this process has."""
    own = {os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}  # noqa: PTH115
    rows = [row.split() for row in Path("/proc/self/net/tcp").read_text().splitlines()]
    return [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]


def test_a_local_server_opens_no_port():
    with ControlServer(None, 1) as server, ControlClient(server.address(), 0, leave=print) as client:
        assert opened_by(server) == []
        assert client.ip == "127.0.0.1"
    with ControlServer(HERE, 1) as server:
        assert len(opened_by(server)) == 1


@needs_root
def test_another_user_cannot_even_knock():
    program = (
        "import os, socket, sys; os.setuid(65534)\n"
        "with socket.socket(socket.AF_UNIX) as connection:\n"
        "    try: connection.connect(sys.argv[1])\n"
        "    except PermissionError: print('denied')\n"
    )
    with ControlServer(None, 1) as server:
        words = [sys.executable, "-c", program, server.address().place.name]
        said = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        assert (said.stdout, said.stderr) == ("denied\n", "")


def test_a_local_socket_leaves_no_file(tmp_path, monkeypatch):
    folder = tmp_path / ("x" * 100)  # longer than the path of a socket may be
    folder.mkdir()
    monkeypatch.setattr(doors.tempfile, "tempdir", str(folder))
    with ControlServer(None, 1) as server, ControlClient(server.address(), 0, leave=print):
        assert list(folder.iterdir()) == []
    assert list(folder.iterdir()) == []


@needs_root
def test_a_worker_tells_nothing_to_another_users_server():
    program = (
        "import os, socket, time; os.setuid(65534)\n"
        "listener = socket.socket(socket.AF_UNIX)\n"
        "listener.bind('')\n"
        "listener.listen()\n"
        "print(listener.getsockname()[1:].decode(), flush=True)\n"
        "connection, _ = listener.accept()\n"
        "print(connection.recv(1) == b'', flush=True)\n"
    )
    with ControlServer(None, 1) as server:
        address = server.address()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as stranger:
        name = "\0" + stranger.stdout.readline().strip()
        place = control_address.LocalSocket(name)
        with pytest.raises(PeerLostError, match="can't be reached: another user's process listens there"):
            ControlClient(control_address.ControlAddress(place, address.token), 0)
        assert stranger.stdout.readline() == "True\n"


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Pretend to be a system whose local sockets are files, in a folder with a short path."""
    folder = Path("/tmp") / f"netdsl-test-{os.getpid()}"
    folder.mkdir()
    monkeypatch.setattr(doors.sys, "platform", "darwin")
    monkeypatch.setattr(doors.tempfile, "tempdir", str(folder))
    yield folder
    folder.rmdir()


def test_a_socket_with_a_file_is_in_a_private_folder(elsewhere):
    with ControlServer(None, 1) as server, ControlClient(server.address(), 0, leave=print):
        (folder,) = elsewhere.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert server.address().place.name == str(folder / "control")
    assert list(elsewhere.iterdir()) == []


def test_a_folder_with_a_long_path_is_reported(elsewhere, monkeypatch):
    folder = elsewhere / ("x" * 100)
    folder.mkdir()
    monkeypatch.setattr(doors.tempfile, "tempdir", str(folder))
    with pytest.raises(DistributedError, match=r"can't listen at a local socket: .*; set TMPDIR to another folder"):
        ControlServer(None, 1)
    assert list(folder.iterdir()) == []
    folder.rmdir()


def test_a_port_answers_nothing_that_is_not_encrypted():
    with ControlServer(HERE, 1) as server:
        address = server.address()
        with socket.create_connection((address.place.hosts[0], address.place.port), PATIENCE) as stranger:
            stranger.sendall(address.token.encode())
            received = stranger.recv(99)
        assert not received or received[0] == 21  # an alert of TLS
        assert server.next(0.0) is None


def test_only_the_greeting_leads_to_the_handshake(monkeypatch):
    """A handshake costs much more than a comparison, so strangers at a worker's address must not cause any."""
    handshakes = []
    secure = doors.NetworkDoor.secure
    monkeypatch.setattr(doors.NetworkDoor, "secure", lambda *given: handshakes.append(given) or secure(*given))
    with ControlServer(HERE, 1) as server:
        place = server.address().place
        for words in (os.urandom(99), len(place.greeting) * b"0", place.greeting[:-1].encode()):
            with socket.create_connection((place.hosts[0], place.port), PATIENCE) as stranger:
                stranger.sendall(words)
                with suppress(OSError):  # if some words were left unread
                    stranger.shutdown(socket.SHUT_WR)
                    assert stranger.recv(1) == b""
        assert handshakes == []
        with ControlClient(server.address(), 0, leave=print):
            assert len(handshakes) == 1


def test_strangers_with_unfinished_handshakes_do_not_push_out_a_worker():
    hello = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        new_context(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(ssl.MemoryBIO(), hello).do_handshake()
    words, ended = hello.read(), threading.Event()

    def knock(place):
        held = deque[socket.socket]()
        with ExitStack() as all_held:
            while not ended.is_set():
                held.append(socket.create_connection((place.hosts[0], place.port), PATIENCE))
                all_held.callback(held[-1].close)
                with suppress(OSError):
                    held[-1].sendall(words)
                if len(held) > 200:
                    held.popleft().close()

    with ControlServer(HERE, 9) as server:
        stranger = threading.Thread(target=knock, args=(server.address().place,))
        stranger.start()
        try:
            for rank in range(9):
                with ControlClient(server.address(), rank, leave=print):
                    pass
        finally:
            ended.set()
            stranger.join(PATIENCE)
