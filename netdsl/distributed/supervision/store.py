"""A dictionary that all workers share at the control server, by which they find each other."""

from __future__ import annotations

import socket
import threading

from netdsl.distributed.supervision.protocol import StoreReply, StoreRequest, receive_from_worker, send
from netdsl.errors import DistributedError

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
