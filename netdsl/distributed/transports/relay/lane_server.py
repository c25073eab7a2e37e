"""The driver's side of a lane: adds up and passes on what the workers send."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from selectors import EVENT_READ, BaseSelector, DefaultSelector

import numpy as np

from netdsl.distributed.transports.relay.connection import PIECE, Connection, lengths
from netdsl.distributed.transports.relay.request import SUMMED, RelayOperation, RelayRequest
from netdsl.distributed.transports.weighted_mean import add_up, scales_of
from netdsl.errors import DistributedError, PeerLostError

_MEANS = (RelayOperation.MEAN, RelayOperation.REDUCE)
_FOR_ALL = (*_MEANS, RelayOperation.BROADCAST)
_FOR_TWO = (RelayOperation.SEND, RelayOperation.RECEIVE)


class LaneServer:
    """Serves one operation after the other. It keeps only a few pieces, however long buffers are."""

    def __init__(
        self, lane: int, connections: Sequence[Connection], cause: Callable[[PeerLostError], PeerLostError]
    ) -> None:
        self._lane, self._connections, self._cause, self._size = lane, connections, cause, len(connections)
        self._requests: dict[int, RelayRequest] = {}  # by rank, those that aren't done yet
        self._parts = np.empty((self._size, PIECE), np.uint8)
        self._mean = np.empty(PIECE, np.uint8)

    def serve(self) -> None:
        """Do what workers ask for, until one is gone or they don't want the same; all are told why it is over."""
        try:
            with DefaultSelector() as selector:
                self._await(selector, range(self._size))
                while True:
                    self._hear(selector)
                    while served := self._serve_some():
                        self._await(selector, served)
        except PeerLostError as problem:
            self._refuse(self._cause(problem))
        except DistributedError as problem:
            self._refuse(problem)

    def _await(self, selector: BaseSelector, ranks: Iterable[int]) -> None:
        for rank in ranks:
            self._requests.pop(rank, None)
            selector.register(self._connections[rank].socket, EVENT_READ, rank)

    def _hear(self, selector: BaseSelector) -> None:
        """Take requests that have come. The values that follow stay on their way until everybody is there."""
        for key, _ in selector.select():
            request = self._connections[key.data].request()
            if not self._possible(request):
                raise DistributedError(f"lane {self._lane}: worker {key.data} asks for a {request}, which can't be")
            self._requests[key.data] = request
            selector.unregister(key.fileobj)

    def _possible(self, request: RelayRequest) -> bool:
        summed = request.operation in _MEANS and request.kind in SUMMED
        known = summed or request.operation in (RelayOperation.BROADCAST, *_FOR_TWO)
        return known and request.other in range(self._size)

    def _serve_some(self) -> Sequence[int]:
        """Serve those whose partners are there too; returns their ranks."""
        together = {rank: request for rank, request in self._requests.items() if request.operation in _FOR_ALL}
        if len({request.common for request in together.values()}) > 1:
            raise self._mismatch(together)
        if len(together) == self._size:
            self._serve_all(together[0])
            return range(self._size)
        for rank, request in self._requests.items():
            if (taker := self._taker(rank)) is not None:
                self._pass_on(rank, [taker], request.count)
                return rank, taker
        if len(self._requests) == self._size:
            raise self._mismatch(self._requests)
        return ()

    def _serve_all(self, request: RelayRequest) -> None:
        if request.operation is RelayOperation.BROADCAST:
            takers = [rank for rank in range(self._size) if rank != request.other]
            self._pass_on(request.other, takers, request.count)
        else:
            self._average(request)

    def _average(self, request: RelayRequest) -> None:
        """Average piece by piece, for all workers or for one."""
        weights = [self._requests[rank].value for rank in range(self._size)]
        scales, kind = scales_of(weights, f"{request}, lane {self._lane}"), request.kind
        takers = self._connections if request.operation is RelayOperation.MEAN else [self._connections[request.other]]
        self._assure(self._connections)
        for length in lengths(request.count * kind.itemsize):
            parts, mean = self._parts[:, :length], self._mean[:length]
            for connection, part in zip(self._connections, parts, strict=True):
                connection.fill(part)
            add_up([part.view(kind) for part in parts], scales, mean.view(kind))
            for connection in takers:
                connection.give(mean)
        self._assure(self._connections)

    def _taker(self, rank: int) -> int | None:
        """The worker that receives what this one sends, if it is there."""
        sent = self._requests[rank]
        received = self._requests.get(sent.other)
        if (
            sent.operation is not RelayOperation.SEND
            or received is None
            or (received.operation, received.other) != (RelayOperation.RECEIVE, rank)
        ):
            return None
        if received.count != sent.count:
            raise self._mismatch({rank: sent, sent.other: received})
        return sent.other

    def _pass_on(self, source: int, takers: Iterable[int], count: int) -> None:
        """Pass on the bytes that one worker sends to others."""
        giver, others = self._connections[source], [self._connections[rank] for rank in takers]
        self._assure([giver, *others])
        for length in lengths(count):
            giver.fill(piece := self._mean[:length])
            for connection in others:
                connection.give(piece)
        self._assure([giver, *others])

    def _assure(self, connections: Iterable[Connection]) -> None:
        for connection in connections:
            connection.assure()

    def _mismatch(self, requests: Mapping[int, RelayRequest]) -> DistributedError:
        said = ", ".join(f"worker {rank} asks for a {request}" for rank, request in sorted(requests.items()))
        return DistributedError(
            f"lane {self._lane}: {said}; all must have the same net and ask for the same in the same order"
        )

    def _refuse(self, problem: DistributedError) -> None:
        for connection in self._connections:
            connection.refuse(problem)
