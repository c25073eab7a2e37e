"""The dictionary that all workers share at the control server, as torch's process groups take it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from datetime import timedelta

from torch._C._distributed_c10d import Store

from netdsl.distributed.supervision.protocol import StoreReply, StoreRequest, receive_from_server, send
from netdsl.errors import PeerLostError


class ControlStore(Store):
    """The dictionary as one worker sees it; torch's process groups meet at it."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection, self._using = connection, threading.Lock()

    def set(self, key: str, value: bytes | str) -> None:
        """Set a value."""
        self._ask(StoreRequest("set", (key,), _as_bytes(value)))

    def get(self, key: str) -> bytes:
        """A value, as soon as it is there."""
        return self._ask(StoreRequest("get", (key,))).value

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins at 0; returns the sum."""
        return self._ask(StoreRequest("add", (key,), amount=amount)).number

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of these keys have values."""
        return bool(self._ask(StoreRequest("check", tuple(keys))).number)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all of these keys have values. Who watches the workers ends what takes too long."""
        self._ask(StoreRequest("wait", tuple(keys)))

    def compare_set(self, key: str, expected: bytes | str, desired: bytes | str) -> bytes:
        """Set a value if it is the expected one; returns the value that is there afterwards."""
        return self._ask(StoreRequest("compare", (key,), _as_bytes(desired), _as_bytes(expected))).value

    def delete_key(self, key: str) -> bool:
        """Remove a value; returns whether there was one."""
        return bool(self._ask(StoreRequest("delete", (key,))).number)

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing: waiting ends when the connection does."""

    def _ask(self, request: StoreRequest) -> StoreReply:
        try:
            with self._using:
                send(self._connection, request)
                reply = receive_from_server(self._connection)
        except OSError as problem:
            raise PeerLostError(f"the store at the control server is gone: {problem}") from None
        if not isinstance(reply, StoreReply):
            raise PeerLostError("the store at the control server is gone")
        return reply


def _as_bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
