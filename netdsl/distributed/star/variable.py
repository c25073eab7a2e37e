"""A centre variable at the driver, which one worker at a time may change."""

from __future__ import annotations

import threading

import numpy as np

from netdsl.distributed.adding import draw_together
from netdsl.distributed.star.request import Request, Wish
from netdsl.distributed.star.wire import PIECE, Wire, bytes_of, pieces


class Variable:
    """Its values, which the first worker sets before anybody else comes."""

    def __init__(self, request: Request) -> None:
        self._kind, self._count = request.kind, request.count
        self._bytes = bytes_of(np.empty(request.count, request.kind))
        self._alone = threading.Lock()

    def fits(self, request: Request) -> bool:
        """Whether a worker means as many values of this kind."""
        return (request.kind, request.count) == (self._kind, self._count)

    def serve(self, request: Request, wire: Wire) -> None:
        """Do what a worker asks for, when no other one is here."""
        with self._alone:
            wire.assure()
            if request.wish is Wish.READ:
                wire.give(self._bytes)
            elif request.wish is Wish.WRITE:
                for piece in pieces(self._bytes):
                    wire.fill(piece)
            else:
                self._exchange(request.value, wire)
        wire.assure()

    def _exchange(self, alpha: float, wire: Wire) -> None:
        given = np.empty(min(PIECE, self._bytes.size), np.uint8)
        for piece in pieces(self._bytes):
            own = given[: piece.size]
            wire.fill(own)
            draw_together(own.view(self._kind), piece.view(self._kind), alpha)
            wire.give(own)
