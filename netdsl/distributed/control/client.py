"""A worker's connections to the control server. The worker sends heartbeats and reports, and receives requests to
stop."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from queue import SimpleQueue
from typing import Any, Self

import msgspec

from netdsl.distributed.control.address import ControlAddress, LocalSocket, NetworkPort, is_beside
from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.control.heartbeat import Pulse, SupervisorLease
from netdsl.distributed.control.peers import PeerDoor, exchange_address, unreached
from netdsl.distributed.control.protocol import (
    Abort,
    Code,
    Confirmed,
    Ended,
    Ending,
    Heartbeat,
    Hello,
    Introduce,
    Introduced,
    Join,
    LeaveAfterRound,
    Left,
    Peer,
    Posted,
    Purpose,
    Sent,
    StopAfterRound,
    ToWorker,
    TriedPeers,
    TryPeers,
    Welcome,
    WorkerReport,
    receive_from_server,
    send,
)
from netdsl.distributed.control.reach import ENDED, PROBE, UnreachableServerError
from netdsl.distributed.control.versions import Versions
from netdsl.distributed.interruption import Interruption
from netdsl.errors import DistributedError, PeerLostError

_ANSWER = 60.0  # seconds that the server may take to answer
_KNOCKING = 30.0  # seconds for which a worker tries again when the server closes its connection without an answer
_PAUSE = 0.05  # seconds between two tries


def end_process(reason: str) -> None:
    """End this process at once. If the process leads its own group, end the whole group."""
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


class ControlClient:
    """A worker's side of the control connection.

    If the connection ends before the client closes it, the supervisor is gone. The client then calls `leave`, which
    must end the worker at once, since another supervisor may start the run again from the journal. The same happens if
    the supervisor, on another machine, doesn't answer within the deadline. `interruption` happens when another worker
    is lost.
    """

    def __init__(
        self, address: ControlAddress, rank: int, beat: float = 1.0, leave: Callable[[str], object] = end_process
    ) -> None:
        self.pulse, self.interruption = Pulse(), Interruption()
        self._address, self._rank, self._beat, self._leave = address, rank, beat, leave
        self._lease = SupervisorLease(address.place.silence) if isinstance(address.place, NetworkPort) else None
        self._sending, self._stop, self._closed = threading.Lock(), threading.Event(), threading.Event()
        self._losing, self._ending = threading.Lock(), threading.Event()
        self._leaving, self._joins = threading.Event(), SimpleQueue[Join | PeerLostError | None]()
        self._meeting, self._rank_there = 0, rank
        self._stores: list[Endpoint] = []
        self._peer_door: PeerDoor | None = None
        self._socket = self._connect(Purpose.CONTROL)
        # All later connections go the same way.
        self._address = msgspec.structs.replace(address, place=address.place.over(self._socket))
        self.ip = address.place.reached_from(self._socket)  # the address at which other workers reach this machine
        self._is_beside_server = is_beside(self._socket)

    def __enter__(self) -> Self:
        for work in (self._take_messages, self._pass_on_pulse, self._watch_lease):
            threading.Thread(target=work, name="control client", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.set()
        self._close_stores()
        self._close_peer_door()
        _close_socket(self._socket)

    def report(self, contents: dict[str, Any]) -> None:
        """Report an event or a record, as plain values."""
        self._send_message(WorkerReport(contents))

    def report_end(self, ending: Ending, reason: str = "") -> None:
        """Report how the worker ended."""
        self._ending.set()  # from now on the server may close the connection first
        self._send_message(Ended(ending, reason))
        self._closed.set()

    def await_join(self) -> Join | None:
        """Wait until this worker takes part, and return the membership. Returns `None` if the worker is to stop
        instead. Raises a `PeerLostError` if the supervisor gives up."""
        with self.pulse.waiting():
            join = self._joins.get()
        if isinstance(join, PeerLostError):
            raise join
        return join

    def report_left(self, reason: str = "") -> None:
        """Report that the worker no longer takes part and waits for the next membership."""
        self._close_stores()
        self._send_message(Left(reason))

    def is_to_leave(self) -> bool:
        """Return whether the worker is to leave when it has finished a round."""
        return self._leaving.is_set()

    def is_to_stop(self) -> bool:
        """Return whether the worker is to stop when it has finished a round."""
        return self._stop.is_set()

    def open_store(self) -> Endpoint:
        """Return a connection to the dictionary that all workers share. This client closes the connection."""
        self._stores.append(self._connect(Purpose.STORE))
        return self._stores[-1]

    def open_files(self) -> Endpoint:
        """Return a connection to the run's folder. The caller closes it."""
        return self._connect(Purpose.FILES)

    def fetch_code(self) -> Mapping[str, bytes]:
        """Return the files of the modules that the supervisor sends."""
        with closing(self._connect(Purpose.CODE)) as connection:
            try:
                answer = receive_from_server(connection)
            except OSError as problem:
                raise PeerLostError(f"the supervisor's modules didn't arrive: {problem}") from None
        if not isinstance(answer, Code):
            raise PeerLostError("the supervisor's modules didn't arrive, since its connection ended")
        return answer.files

    def open_lane(self, lane: int) -> Endpoint:
        """Return a connection to a lane of the relay."""
        return self._connect(Purpose.RELAY, lane)

    def _close_stores(self) -> None:
        while self._stores:
            _close_socket(self._stores.pop())

    def _connect(self, purpose: Purpose, lane: int = 0) -> Endpoint:
        rank = self._rank_there if purpose is Purpose.RELAY else self._rank
        versions = Versions.here() if purpose is Purpose.CONTROL else None
        return admitted(self._address, Hello(rank, socket.gethostname(), purpose, lane, self._meeting, versions))

    def _send_message(self, message: Sent) -> None:
        try:
            with self._sending:
                send(self._socket, message)
        except OSError as problem:
            raise PeerLostError(f"the supervisor is gone: {problem}") from None

    def _take_messages(self) -> None:
        reason = "the supervisor is gone"
        try:
            while (message := receive_from_server(self._socket)) is not None:
                match message:
                    case Introduce():
                        self._listen_for_peers(message)
                    case TryPeers():  # takes longer than the server may take to confirm a heartbeat
                        threading.Thread(target=self._try_peers, args=(message,), name="peers", daemon=True).start()
                    case Join():
                        self._take_part(message)
                    case LeaveAfterRound():
                        self._leaving.set()
                    case StopAfterRound():
                        self._stop.set()
                        self._joins.put(None)
                    case Abort(reason=why, final=final):
                        self.interruption.happen(why)
                        if final:
                            self._joins.put(PeerLostError(why))
                    case Confirmed() if self._lease is not None:
                        self._lease.note_answer()
        except TimeoutError:  # the system has given up, as it does after the same time
            reason = self._silence()
        except (OSError, DistributedError):
            pass
        if not self._ending.is_set():
            self._lose_supervisor(reason)

    def _listen_for_peers(self, request: Introduce) -> None:
        """Listen where this worker's exchanges will arrive, until it takes part."""
        if self._is_beside_server and request.reached:
            self.ip = request.reached
        self._close_peer_door()
        try:
            self._peer_door = PeerDoor(exchange_address(self.ip))
            peer = self._peer_door.peer()
        except OSError as problem:
            peer = Peer(problem=str(problem))
        self._send_message(Introduced(request.number, peer))

    def _try_peers(self, request: TryPeers) -> None:
        problems = unreached(request.peers)
        with suppress(PeerLostError):  # the thread that receives messages notices this too
            self._send_message(TriedPeers(request.number, problems))

    def _close_peer_door(self) -> None:
        if self._peer_door is not None:
            self._peer_door.close()

    def _take_part(self, join: Join) -> None:
        self._close_peer_door()
        self._meeting, self._rank_there = join.meeting, join.membership.members.index(self._rank)
        self.interruption = Interruption()
        self._leaving.clear()
        self._joins.put(join)

    def _pass_on_pulse(self) -> None:
        while not self._closed.wait(self._beat):
            sign = self.pulse.take()
            if self._lease is not None:
                self._lease.note_request()
            if sign is not None or self._lease is not None:
                with suppress(PeerLostError):  # the thread that receives messages notices this too
                    self._send_message(Heartbeat(sign))

    def _watch_lease(self) -> None:
        """End the worker if the supervisor doesn't answer. The thread that sends may be stuck then."""
        while self._lease is not None and not self._closed.wait(self._beat):
            if self._lease.has_ended():
                self._lose_supervisor(self._silence())
                return

    def _silence(self) -> str:
        """Return the reason for which a worker ends that is cut off."""
        seconds = self._lease.seconds if self._lease is not None else 0.0
        return (
            f"the supervisor at {self._address.place} hasn't answered for {seconds:g} s, so this worker ends; check "
            "the network between the two machines, and continue the run with --resume if the supervisor has ended too"
        )

    def _lose_supervisor(self, reason: str) -> None:
        with self._losing:
            if self._closed.is_set():
                return
            self._closed.set()
        self.interruption.happen(reason)
        self._joins.put(None)
        where = f" on {socket.gethostname()}" if self._lease is not None else ""
        self._leave(f"worker {self._rank}{where}: {self.interruption.reason}")


def admitted(address: ControlAddress, hello: Hello) -> Endpoint:
    """Return a connection that the server at an address has admitted for a worker.

    While strangers knock, the server may close a new connection without an answer, so that the next try can work.
    """
    where, until = f"the control server at {address.place}", time.monotonic() + _KNOCKING
    while True:
        connection = _knock(address, where)
        if connection is not None and (answer := _introduce(hello, connection, address, where)) is not None:
            break
        if connection is not None:
            connection.close()
        if time.monotonic() > until:
            raise PeerLostError(
                f"{where} ended all connections for {_KNOCKING:g} s without an answer; check that no other "
                "program connects to it, and that all workers belong to the same run"
            )
        time.sleep(_PAUSE)
    if not isinstance(answer, Welcome):
        connection.close()
        raise PeerLostError(
            f"{where} refused worker {hello.rank}, because a worker with this rank is already connected or "
            "the server expects other workers; start each rank once, with the same number of workers"
        )
    connection.settimeout(None)
    return connection


def _knock(address: ControlAddress, where: str) -> Endpoint | None:
    """Return a new connection, or `None` if the server has ended it."""
    try:
        return address.place.connect(_ANSWER)
    except (BlockingIOError, *ENDED):
        return None
    except OSError as problem:
        if isinstance(problem, UnreachableServerError) and problem.was_ended:
            return None
        raise PeerLostError(f"{where} can't be reached: {problem}") from None


def _introduce(hello: Hello, connection: Endpoint, address: ControlAddress, where: str) -> ToWorker | None:
    """Return the server's answer to a worker, or `None` if the server has ended the connection."""
    try:
        return _answer_to(hello, connection, address)
    except ENDED:
        return None
    except (OSError, DistributedError) as problem:
        connection.close()
        raise PeerLostError(f"{where} doesn't answer: {problem}") from None


def _answer_to(hello: Hello, connection: Endpoint, address: ControlAddress) -> ToWorker | None:
    """Return the answer of a server to a worker's first message, or `None` if it ended the connection."""
    connection.sendall(address.token.encode())
    send(connection, hello)
    return receive_from_server(connection, time.monotonic() + _ANSWER)


def posted_at(address: ControlAddress, rank: int) -> tuple[Posted, LocalSocket | NetworkPort]:
    """Return what the first worker tells the others at a control server, and the one way that led there.

    Raises an `OSError` if no server answers.
    """
    connection = address.place.connect(PROBE)
    try:
        answer = _answer_to(Hello(rank, socket.gethostname(), Purpose.POSTED), connection, address)
        place = address.place.over(connection)
    finally:
        connection.close()
    if isinstance(answer, Posted):
        return answer, place
    if answer is None:
        raise ConnectionResetError(f"{place} ended the connection without an answer")
    raise DistributedError(
        f"the control server at {place} refused worker {rank}, because it expects fewer workers; start all workers "
        "with the same number of them"
    )


def _close_socket(connection: Endpoint) -> None:
    with suppress(OSError):  # the server may have left first
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
