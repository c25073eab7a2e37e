"""A variable that the first worker has, and serves to the others over torch.distributed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from netdsl.distributed.traffic import Traffic
from netdsl.errors import PeerLostError

_PLACE = re.compile(r"^\[\S+:\d+\] ?")  # in gloo's source, with which its errors begin
_IDLE = timedelta(days=365)  # a worker asks when it likes; that it is gone is seen by its connection


class SharedVariableRequest(IntEnum):
    """What a worker asks for."""

    EXCHANGE = 0
    READ = 1
    WRITE = 2


@contextmanager
def lost(doing: str) -> Iterator[None]:
    """Torch's errors while others are waited for are those of a worker who lost another."""
    try:
        yield
    except RuntimeError as problem:
        what = _PLACE.sub("", (str(problem).splitlines() or [type(problem).__name__])[0])
        raise PeerLostError(f"{doing}: {what}") from None


class TorchVariable:
    """The variable as one worker sees it. The first worker has a thread for each of the others."""

    def __init__(
        self, group: Any, rank: int, size: int, number: int, buffer: Tensor, count: Callable[[Traffic], None]
    ) -> None:
        self._group, self._rank, self._tag, self._count = group, rank, number, count
        self._values = buffer.detach().cpu().clone()
        self._alone = threading.Lock()
        for other in range(1, size if rank == 0 else 0):
            threading.Thread(target=self._serve, args=(other,), name=f"centre for {other}", daemon=True).start()

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together."""
        self._ask(SharedVariableRequest.EXCHANGE, buffer, alpha)

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with what it is now."""
        self._ask(SharedVariableRequest.READ, buffer)

    def write(self, buffer: Tensor) -> None:
        """Set it."""
        self._ask(SharedVariableRequest.WRITE, buffer)

    def _ask(self, wish: SharedVariableRequest, buffer: Tensor, alpha: float = 0.0) -> None:
        start, own = time.monotonic(), buffer.detach().cpu()
        if self._rank == 0:
            self._grant(wish, own, alpha)
        else:
            with lost(f"{wish.name.lower()} of the centre"):
                self._send(torch.tensor([wish, alpha], dtype=torch.float64), 0)
                self._send(own, 0)
                self._group.recv([own], 0, self._tag).wait()
        if own.data_ptr() != buffer.data_ptr():
            buffer.detach().copy_(own)
        self._count(Traffic(0.0, time.monotonic() - start, 2 * own.nbytes if self._rank else 0))

    def _grant(self, wish: SharedVariableRequest, given: Tensor, alpha: float) -> None:
        """Do what is asked, with what the worker has."""
        with self._alone:
            if wish is SharedVariableRequest.READ:
                given.copy_(self._values)
            elif wish is SharedVariableRequest.WRITE:
                self._values.copy_(given)
            else:
                moved = (given - self._values).mul_(alpha)
                given.sub_(moved)
                self._values.add_(moved)

    def _serve(self, other: int) -> None:
        """Grant what a worker asks for, until it is gone."""
        wish, given = torch.empty(2, dtype=torch.float64), torch.empty_like(self._values)
        with suppress(RuntimeError):
            while True:
                for each in (wish, given):
                    self._group.recv([each], other, self._tag).wait(_IDLE)
                self._grant(SharedVariableRequest(int(wish[0])), given, wish[1].item())
                self._send(given, other)

    def _send(self, what: Tensor, to: int) -> None:
        self._group.send([what], to, self._tag).wait()
