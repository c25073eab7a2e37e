"""The control server. Workers send their reports to it, meet at its store, and reach the relay through it."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Self

from netdsl.distributed.control.address import DEADLINE, ControlAddress, is_beside
from netdsl.distributed.control.doors import open_door
from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.control.entrance import Entrance
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.interfaces import plain
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.protocol import (
    HANDSHAKE,
    Code,
    Confirmed,
    Heartbeat,
    Hello,
    Instruction,
    Introduce,
    Join,
    Posted,
    Purpose,
    Refused,
    Sent,
    StoreReply,
    StoreRequest,
    Welcome,
    is_received,
    receive_from_worker,
    send,
)
from netdsl.distributed.control.reception import Reception
from netdsl.errors import DistributedError

_MOST_KEYS = 100_000
_LONGEST = 1 << 20  # bytes of a value
Adopt = Callable[[Endpoint, int, int], object]  # takes over a connection, with its rank and lane
Serve = Callable[[Endpoint], object]  # answers a worker's requests until its connection ends
# A rank's message, or its connection's end.
Happened = tuple[int, Hello | Sent | None]
_NONSENSE = (OSError, ValueError, DistributedError)  # errors caused by strangers, and by workers that vanish


class ControlServer:
    """Admits processes that have the token, as `size` workers. Exiting the context ends all connections.

    The server listens at a place in the network. Without one, only processes of this machine can connect.

    With `again`, a lost worker may connect again. The store and the relay belong to the current meeting of workers, and
    are replaced when the next meeting begins. `serve_files` serves workers that don't see the run's folder, and `code`
    contains the files of the modules that workers ask for.
    """

    def __init__(
        self,
        place: NetworkPlace | None,
        size: int,
        adopt: Adopt | None = None,
        *,
        again: bool = False,
        deadline: float = DEADLINE,
        serve_files: Serve | None = None,
        code: Mapping[str, bytes] | None = None,
    ) -> None:
        self._identity = place.identity if place is not None and place.identity is not None else Identity.new()
        self._size, self._adopt, self._again = size, adopt, again
        self._meeting, self._store, self._serve_files = 0, StoreServer(), serve_files
        self._code = Code(dict(code or {}))
        self._happened: SimpleQueue[Happened] = SimpleQueue()
        self._workers: dict[int, Endpoint] = {}
        self._served: set[Endpoint] = set()  # connections for the store, the run's folder and code
        self._seen: set[int] = set()
        self._changing, self._closed = threading.Lock(), False
        self._posted: Posted | None = None
        self._told, self._telling = set[int](), threading.Condition()
        self._reception = Reception()
        self._door = open_door(place, self._identity, deadline)
        self._entrance = Entrance(self._door, self._reception, self._admit, HANDSHAKE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with self._changing:
            self._closed = True
            connections = [*self._workers.values(), *self._served]
        self._store.close()
        self._entrance.close()
        self._door.close()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def address(self) -> ControlAddress:
        """Return the address for workers."""
        return ControlAddress(self._door.place(), self._identity.token)

    def post(self, message: Posted) -> None:
        """Send a message to each worker that asks for it, now or later."""
        with self._telling:
            self._posted = message
            self._telling.notify_all()

    def await_told(self, number: int, seconds: float) -> bool:
        """Wait until this many workers know what was posted. Returns whether they do within these seconds."""
        with self._telling:
            return self._telling.wait_for(lambda: len(self._told) >= number, seconds)

    def next(self, timeout: float) -> Happened | None:
        """Return the next event within this many seconds, or `None` if there is none."""
        try:
            return self._happened.get(timeout=timeout)
        except Empty:
            return None

    def tell_all(self, message: Instruction) -> None:
        """Send a message to all connected workers."""
        with self._changing:
            self._tell_workers(self._workers, message)

    def tell(self, rank: int, message: Instruction) -> None:
        """Send a message to a worker, if it is connected."""
        with self._changing:
            self._tell_workers([rank], message)

    def introduce(self, number: int, ranks: Iterable[int]) -> None:
        """Request workers to listen for each other."""
        with self._changing:
            self._tell_workers(ranks, Introduce(number, self._reached()))

    def begin_meeting(self, join: Join, adopt: Adopt | None = None) -> None:
        """Begin the next meeting, and send its membership to the workers. The previous meeting's store is closed."""
        with self._changing:
            store, self._store = self._store, StoreServer()
            self._meeting, self._adopt = join.meeting, adopt
            self._tell_workers(join.membership.members, join)
        store.close()

    def _reached(self) -> str:
        """Return the address at which most workers of other machines have reached this one, or nothing if there are
        none. A worker on this machine can't know it, since it reaches all addresses, even those without a network."""
        others = (plain(each.getsockname()[0]) for each in self._workers.values() if not is_beside(each))
        return next((ip for ip, _ in Counter(others).most_common(1)), "")

    def dismiss(self, rank: int) -> None:
        """Close the connection of a worker. The worker ends when it notices that."""
        with self._changing:
            connection = self._workers.get(rank)
            if connection is not None:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _tell_workers(self, ranks: Iterable[int], message: Instruction) -> None:
        for connection in (self._workers[rank] for rank in ranks if rank in self._workers):
            with suppress(OSError):  # if the connection has ended, another thread notices that
                send(connection, message)

    def _admit(self, connection: socket.socket, peer: str, deadline: float) -> None:
        """Serve a connection with the greeting in a thread of its own."""
        name = f"{peer} with the greeting"  # it no longer competes with connections of strangers at the same address
        self._reception.enter(connection, name)
        admission = threading.Thread(
            target=self._serve_if_known, args=(connection, name, deadline), name="control server", daemon=True
        )
        try:
            admission.start()
        except RuntimeError:  # the user's threads are scarce for a moment
            self._reception.leave(connection, name)
            connection.close()

    def _serve_if_known(self, connection: socket.socket, peer: str, deadline: float) -> None:
        """Serve a worker. Close the connection if it sends no token before the deadline, or an unknown message."""
        connection.settimeout(HANDSHAKE)
        worker, adopted = None, False
        try:
            with suppress(*_NONSENSE):
                worker = self._identify(connection, deadline)
        finally:
            waited = self._reception.leave(connection, peer)
        if worker is not None and waited:
            with suppress(*_NONSENSE):
                adopted = self._serve_connection(*worker)
        if not adopted:
            connection.close()

    def _identify(self, connection: socket.socket, deadline: float) -> tuple[Endpoint, Hello] | None:
        """Return a connection with the worker's first message, or `None` for a stranger. Parses nothing before the
        token."""
        endpoint = self._door.secure(connection, deadline)
        if not is_received(endpoint, self._identity.token, deadline):
            return None
        hello = receive_from_worker(endpoint, deadline)
        endpoint.settimeout(None)
        return (endpoint, hello) if isinstance(hello, Hello) else None

    def _serve_connection(self, connection: Endpoint, hello: Hello) -> bool:
        """Serve a connection until it ends. Returns whether another owner has taken it over."""
        with self._changing:
            store, adopt, late = self._store, self._adopt, hello.meeting != self._meeting
            if self._closed:
                return False
        if hello.rank not in range(self._size):
            send(connection, Refused())
        elif hello.purpose is Purpose.CONTROL:
            self._serve_worker(connection, hello)
        elif hello.purpose is Purpose.POSTED:
            self._tell_posted(connection, hello.rank)
        elif hello.purpose is Purpose.CODE:
            self._serve_requests(connection, lambda worker: send(worker, self._code))
        elif hello.purpose is Purpose.FILES and self._serve_files is not None:
            self._happened.put((hello.rank, hello))
            self._serve_requests(connection, self._serve_files)
        elif late or hello.purpose is Purpose.FILES or (hello.purpose is Purpose.RELAY and adopt is None):
            send(connection, Refused())
        elif hello.purpose is Purpose.STORE:
            self._serve_requests(connection, store.serve)
        elif adopt is not None:
            send(connection, Welcome())
            adopt(connection, hello.rank, hello.lane)
            return True
        return False

    def _tell_posted(self, connection: Endpoint, rank: int) -> None:
        with self._telling:
            self._telling.wait_for(lambda: self._posted is not None, HANDSHAKE)
            posted = self._posted
        if posted is None:
            return
        connection.settimeout(HANDSHAKE)
        send(connection, posted)
        with self._telling:
            self._told.add(rank)
            self._telling.notify_all()

    def _serve_requests(self, connection: Endpoint, serve: Serve) -> None:
        with self._changing:
            if self._closed:
                return
            self._served.add(connection)
        try:
            send(connection, Welcome())
            serve(connection)
        finally:
            with self._changing:
                self._served.discard(connection)

    def _serve_worker(self, connection: Endpoint, hello: Hello) -> None:
        """Read a worker's messages until its connection ends."""
        rank = hello.rank
        with self._changing:
            known = self._workers if self._again else self._seen
            if self._closed or rank in known:  # a second process with this rank would be a second replica
                send(connection, Refused())
                return
            send(connection, Welcome())
            self._seen.add(rank)
            self._workers[rank] = connection
        self._happened.put((rank, hello))
        with suppress(*_NONSENSE):
            while isinstance(message := receive_from_worker(connection), Sent):
                if isinstance(message, Heartbeat):
                    # Other threads send to this worker too. One that has ended doesn't read the answer, but what it
                    # has sent still counts.
                    with self._changing, suppress(OSError):
                        send(connection, Confirmed())
                    if message.sign is None:
                        continue
                self._happened.put((rank, message))
        with self._changing:  # so that its successor connects later
            del self._workers[rank]
            self._happened.put((rank, None))


class StoreServer:
    """The dictionary that all workers share."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._closed = False

    def serve(self, connection: Endpoint) -> None:
        """Answer one worker's requests until its connection ends."""
        while isinstance(request := receive_from_worker(connection), StoreRequest):
            send(connection, self._answer_to(request))

    def close(self) -> None:
        """Wake all waiting threads, whose requests then fail."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _answer_to(self, request: StoreRequest) -> StoreReply:
        if len(request.value) > _LONGEST or not request.keys:
            raise DistributedError(
                "a worker sent an invalid request to the store; start all workers with the same version of netdsl"
            )
        key = request.keys[0]
        with self._changed:
            match request.operation:
                case "set":
                    self._set_value(key, request.value)
                case "get" | "wait":
                    self._changed.wait_for(lambda: self._closed or self._values.keys() >= set(request.keys))
                    if self._closed:
                        raise DistributedError("the store is closed; start the run again with --resume")
                    return StoreReply(self._values[key])
                case "add":
                    total = int(self._values.get(key, b"0")) + request.amount
                    self._set_value(key, str(total).encode())
                    return StoreReply(number=total)
                case "check":
                    return StoreReply(number=int(self._values.keys() >= set(request.keys)))
                case "compare":
                    if self._values.get(key, b"") == request.expected:
                        self._set_value(key, request.value)
                    return StoreReply(self._values.get(key, request.expected))
                case "delete":
                    return StoreReply(number=int(self._values.pop(key, None) is not None))
                case _:
                    raise DistributedError(
                        f"the store doesn't support the operation {request.operation!r}; start all workers with the "
                        "same version of netdsl"
                    )
        return StoreReply()

    def _set_value(self, key: str, value: bytes) -> None:
        if len(self._values) >= _MOST_KEYS and key not in self._values:
            raise DistributedError(
                f"the store is full: it already has {_MOST_KEYS} keys; report it with the log of the run, since no "
                "exchange needs this many"
            )
        self._values[key] = value
        self._changed.notify_all()
