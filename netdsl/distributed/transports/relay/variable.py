"""A shared variable's values at the driver, which one worker at a time may change."""

from __future__ import annotations

import threading

import numpy as np

from netdsl.distributed.transports.relay.connection import PIECE, Connection, bytes_of, pieces
from netdsl.distributed.transports.relay.request import RelayOperation, RelayRequest


class Variable:
    """The values of a shared variable, which the first worker sets before anybody else comes."""

    def __init__(self, request: RelayRequest) -> None:
        self._kind, self._count = request.kind, request.count
        self._bytes = bytes_of(np.empty(request.count, request.kind))
        self._using = threading.Lock()

    def fits(self, request: RelayRequest) -> bool:
        """Whether a request is about as many values of this type."""
        return (request.kind, request.count) == (self._kind, self._count)

    def serve(self, request: RelayRequest, connection: Connection) -> None:
        """Do what a worker asks for, when no other one is here."""
        with self._using:
            connection.assure()
            if request.operation is RelayOperation.READ:
                connection.give(self._bytes)
            elif request.operation is RelayOperation.WRITE:
                for piece in pieces(self._bytes):
                    connection.fill(piece)
            else:
                self._add(connection)
        connection.assure()

    def _add(self, connection: Connection) -> None:
        buffer = np.empty(min(PIECE, self._bytes.size), np.uint8)
        for piece in pieces(self._bytes):
            change, values = buffer[: piece.size].view(self._kind), piece.view(self._kind)
            connection.fill(bytes_of(change))
            np.add(values, change, out=values)
