"""A stranger who knocks at a control server as fast as it can: silent, with half a handshake, and with garbage.

It has the lowest priority, because a real one uses the processors of its own machine. If it may, it becomes another
user. On SIGTERM it prints the number of its knocks, and of those that the system let through.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import ssl
import sys
from collections import deque
from contextlib import suppress
from types import FrameType

_HELD = 200  # open connections
_NOBODY = 65534


def knock(family: int, address: str | tuple[str, int]) -> None:
    """Knock until the process is ended."""
    knocks, connected, held = 0, 0, deque[socket.socket]()

    def leave(number: int, frame: FrameType | None) -> None:
        print(knocks, connected, flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    for words in itertools.cycle((b"", _half_handshake(), os.urandom(99))):
        connection = socket.socket(family)
        connection.settimeout(1)
        knocks += 1
        with suppress(OSError):
            connection.connect(address)
            connected += 1
            connection.sendall(words)
        held.append(connection)
        if len(held) > _HELD:
            held.popleft().close()


def _half_handshake() -> bytes:
    """Return the first message of TLS, after which the server has computed its own part."""
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


if __name__ == "__main__":
    os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with suppress(PermissionError):
        os.setuid(_NOBODY)
    if len(sys.argv) > 2:
        knock(socket.AF_INET, (sys.argv[1], int(sys.argv[2])))
    knock(socket.AF_UNIX, sys.argv[1])
