"""A centre variable at the driver, which one worker at a time may change."""

from __future__ import annotations

import threading

import numpy as np

from netdsl.distributed.transports.relay.connection import PIECE, Connection, bytes_of, pieces
from netdsl.distributed.transports.relay.request import RelayOperation, RelayRequest
from netdsl.distributed.transports.weighted_mean import draw_together


class Variable:
    """Its values, which the first worker sets before anybody else comes."""

    def __init__(self, request: RelayRequest) -> None:
        self._kind, self._count = request.kind, request.count
        self._bytes = bytes_of(np.empty(request.count, request.kind))
        self._alone = threading.Lock()

    def fits(self, request: RelayRequest) -> bool:
        """Whether a worker means as many values of this kind."""
        return (request.kind, request.count) == (self._kind, self._count)

    def serve(self, request: RelayRequest, wire: Connection) -> None:
        """Do what a worker asks for, when no other one is here."""
        with self._alone:
            wire.assure()
            if request.wish is RelayOperation.READ:
                wire.give(self._bytes)
            elif request.wish is RelayOperation.WRITE:
                for piece in pieces(self._bytes):
                    wire.fill(piece)
            else:
                self._exchange(request.value, wire)
        wire.assure()

    def _exchange(self, alpha: float, wire: Connection) -> None:
        given = np.empty(min(PIECE, self._bytes.size), np.uint8)
        for piece in pieces(self._bytes):
            own = given[: piece.size]
            wire.fill(own)
            draw_together(own.view(self._kind), piece.view(self._kind), alpha)
            wire.give(own)
