"""A dictionary that all workers share at the control server: how they find each other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from torch._C._distributed_c10d import Store

from netdsl.distributed.supervision.protocol import (
    StoreReply,
    StoreRequest,
    receive_from_server,
    receive_from_worker,
    send,
)
from netdsl.errors import DistributedError, PeerLostError

_MOST_KEYS = 100_000
_LONGEST = 1 << 20  # bytes of a value


class StoreServer:
    """The dictionary itself."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._closed = False

    def serve(self, connection: socket.socket) -> None:
        """Do what one worker asks for, until its connection ends."""
        while isinstance(request := receive_from_worker(connection), StoreRequest):
            send(connection, self._answer(request))

    def close(self) -> None:
        """End the waiting of everybody."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _answer(self, request: StoreRequest) -> StoreReply:
        if len(request.value) > _LONGEST or not request.keys:
            raise DistributedError("a request to the store that makes no sense")
        key = request.keys[0]
        with self._changed:
            match request.operation:
                case "set":
                    self._set(key, request.value)
                case "get" | "wait":
                    self._changed.wait_for(lambda: self._closed or self._values.keys() >= set(request.keys))
                    if self._closed:
                        raise DistributedError("the store is closed")
                    return StoreReply(self._values[key])
                case "add":
                    total = int(self._values.get(key, b"0")) + request.amount
                    self._set(key, str(total).encode())
                    return StoreReply(number=total)
                case "check":
                    return StoreReply(number=int(self._values.keys() >= set(request.keys)))
                case "compare":
                    if self._values.get(key, b"") == request.expected:
                        self._set(key, request.value)
                    return StoreReply(self._values.get(key, request.expected))
                case "delete":
                    return StoreReply(number=int(self._values.pop(key, None) is not None))
                case _:
                    raise DistributedError(f"the store can't {request.operation}")
        return StoreReply()

    def _set(self, key: str, value: bytes) -> None:
        if len(self._values) >= _MOST_KEYS and key not in self._values:
            raise DistributedError("the store is full")
        self._values[key] = value
        self._changed.notify_all()


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

    def close(self) -> None:
        """Let go of the connection; whoever waits at it learns that it is gone."""
        with suppress(OSError):  # the server may have left first
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

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
