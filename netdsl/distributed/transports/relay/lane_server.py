"""The driver's side of a lane: here all workers' connections meet, and what they send is added up and passed on."""

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
    """One operation after the other. A few pieces are all that it keeps, however long buffers are."""

    def __init__(self, lane: int, wires: Sequence[Connection], cause: Callable[[PeerLostError], PeerLostError]) -> None:
        self._lane, self._wires, self._cause, self._size = lane, wires, cause, len(wires)
        self._asked: dict[int, RelayRequest] = {}  # by rank, what isn't done yet
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
            self._asked.pop(rank, None)
            selector.register(self._wires[rank].socket, EVENT_READ, rank)

    def _hear(self, selector: BaseSelector) -> None:
        """Take requests that have come. The values that follow stay on their way until everybody is there."""
        for key, _ in selector.select():
            request = self._wires[key.data].request()
            if not self._possible(request):
                raise DistributedError(f"lane {self._lane}: worker {key.data} asks for a {request}, which can't be")
            self._asked[key.data] = request
            selector.unregister(key.fileobj)

    def _possible(self, request: RelayRequest) -> bool:
        summed = request.wish in _MEANS and request.kind in SUMMED
        return (summed or request.wish in (RelayOperation.BROADCAST, *_FOR_TWO)) and request.other in range(self._size)

    def _serve_some(self) -> Sequence[int]:
        """Who was served, if anybody could be."""
        together = {rank: request for rank, request in self._asked.items() if request.wish in _FOR_ALL}
        if len({request.common for request in together.values()}) > 1:
            raise self._mismatch(together)
        if len(together) == self._size:
            self._serve_all(together[0])
            return range(self._size)
        for rank, request in self._asked.items():
            if (taker := self._taker(rank)) is not None:
                self._pass_on(rank, [taker], request.count)
                return rank, taker
        if len(self._asked) == self._size:
            raise self._mismatch(self._asked)
        return ()

    def _serve_all(self, request: RelayRequest) -> None:
        if request.wish is RelayOperation.BROADCAST:
            takers = [rank for rank in range(self._size) if rank != request.other]
            self._pass_on(request.other, takers, request.count)
        else:
            self._average(request)

    def _average(self, request: RelayRequest) -> None:
        """Piece by piece, for all or for one."""
        weights = [self._asked[rank].value for rank in range(self._size)]
        scales, kind = scales_of(weights, f"{request}, lane {self._lane}"), request.kind
        takers = self._wires if request.wish is RelayOperation.MEAN else [self._wires[request.other]]
        self._assure(self._wires)
        for length in lengths(request.count * kind.itemsize):
            parts, mean = self._parts[:, :length], self._mean[:length]
            for wire, part in zip(self._wires, parts, strict=True):
                wire.fill(part)
            add_up([part.view(kind) for part in parts], scales, mean.view(kind))
            for wire in takers:
                wire.give(mean)
        self._assure(self._wires)

    def _taker(self, rank: int) -> int | None:
        """The worker that receives what this one sends, if it is there."""
        sent = self._asked[rank]
        received = self._asked.get(sent.other)
        if (
            sent.wish is not RelayOperation.SEND
            or received is None
            or (received.wish, received.other) != (RelayOperation.RECEIVE, rank)
        ):
            return None
        if received.count != sent.count:
            raise self._mismatch({rank: sent, sent.other: received})
        return sent.other

    def _pass_on(self, source: int, takers: Iterable[int], count: int) -> None:
        """The bytes that one sends, for others."""
        giver, others = self._wires[source], [self._wires[rank] for rank in takers]
        self._assure([giver, *others])
        for length in lengths(count):
            giver.fill(piece := self._mean[:length])
            for wire in others:
                wire.give(piece)
        self._assure([giver, *others])

    def _assure(self, wires: Iterable[Connection]) -> None:
        for wire in wires:
            wire.assure()

    def _mismatch(self, asked: Mapping[int, RelayRequest]) -> DistributedError:
        wishes = ", ".join(f"worker {rank} asks for a {request}" for rank, request in sorted(asked.items()))
        return DistributedError(
            f"lane {self._lane}: {wishes}; all must have the same net and ask for the same in the same order"
        )

    def _refuse(self, problem: DistributedError) -> None:
        for wire in self._wires:
            wire.refuse(problem)
