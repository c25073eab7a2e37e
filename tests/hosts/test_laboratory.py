"""The laboratory itself: its hosts are apart, and nothing of it remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hosts.laboratory import Host, Laboratory, Network, laboratory
from tests.patience import PATIENCE

pytestmark = [pytest.mark.hosts, pytest.mark.usefixtures("possible")]
_LISTEN = "import socket; socket.create_server(('', 5000)).accept()"
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 5000), 1).close()"
_SEND = "import socket; socket.create_connection(('node0', 5000)).sendall(bytes(12_500_000))"
_MEASURE = """
import socket, time
connection = socket.create_server(('', 5000)).accept()[0]
begun = time.monotonic()
print(len(connection.makefile('rb').read()) / 125e3 / (time.monotonic() - begun))
"""
_WAIT = """
from tests.hosts.laboratory import laboratory
import time
with laboratory(2) as made:
    print(*(host.process for host in made.hosts), flush=True)
    time.sleep(600)
"""


def test_each_host_has_its_own_name_processes_and_folders() -> None:
    with laboratory(2) as made:
        first, second = made.hosts
        first.call("touch", "/tmp/own", "/dev/shm/own", str(Path.home() / "own"), str(made.folder / "common"))
        names = second.call(
            "sh", "-c", f"hostname; ls /tmp /dev/shm {Path.home()} {made.folder}; cat /proc/[0-9]*/comm"
        )
        assert "node1" in names and "common" in names and "own" not in names
        assert "python" not in names  # no process of this machine


def test_hosts_reach_each_other_by_name_unless_something_is_between_them() -> None:
    with laboratory(2) as made:
        first, second = made.hosts
        assert _is_reached(made, second, by=first)
        second.cut()
        assert not _is_reached(made, second, by=first)
        second.mend()
        assert _is_reached(made, second, by=first)
        second.set_firewall("tcp dport 5000 drop")
        assert not _is_reached(made, second, by=first)


def test_a_link_has_its_bandwidth() -> None:
    with laboratory(2, Network(bandwidth="100mbit")) as made:
        receiver = made.hosts[0].start([sys.executable, "-c", _MEASURE], made.folder / "output")
        made.hosts[0].await_listener(5000, receiver)
        made.hosts[1].call(sys.executable, "-c", _SEND)
        assert receiver.wait(PATIENCE) == 0
        assert 80 < float(receiver.text()) < 110  # megabits per second


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_remains_of_a_laboratory_whose_program_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    settings = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", _WAIT], stdout=subprocess.PIPE, env=settings, text=True) as process:
        assert process.stdout is not None
        first_processes = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(number)
    assert len(first_processes) == 2
    until = time.monotonic() + PATIENCE
    while any(map(_is_alive, first_processes)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(_is_alive, first_processes))
    assert number == signal.SIGKILL or not [*tmp_path.iterdir()]


def _is_reached(made: Laboratory, host: Host, by: Host) -> bool:
    listener = host.start([sys.executable, "-c", _LISTEN], made.folder / "output")
    host.await_listener(5000, listener)
    try:
        by.call(sys.executable, "-c", _CONNECT, host.name)
    except RuntimeError:
        return False
    finally:
        listener.close()
    return True


def _is_alive(process: int) -> bool:
    return Path("/proc", str(process)).exists()
