"""A variable in the first worker's memory, which serves it to the others over torch.distributed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.lane import Lane
from netdsl.distributed.transports.staging import StagedBuffer
from netdsl.errors import PeerLostError

_SOURCE_LINE = re.compile(r"^\[\S+:\d+\] ?")  # in gloo's source, with which its errors begin
_LEAVE = 5.0  # seconds for the others to leave
_IDLE = timedelta(days=365)  # a worker asks when it likes; that it is gone is seen by its connection


class SharedVariableRequest(IntEnum):
    """What a worker asks the first one for."""

    EXCHANGE = 0
    READ = 1
    WRITE = 2
    LEAVE = 3  # the worker needs the variable no more


@contextmanager
def peer_errors(doing: str) -> Iterator[None]:
    """Turn torch's errors while others are waited for into a PeerLostError."""
    try:
        yield
    except RuntimeError as problem:
        reason = _SOURCE_LINE.sub("", (str(problem).splitlines() or [type(problem).__name__])[0])
        raise PeerLostError(f"{doing}: {reason}") from None


class TorchVariable:
    """The variable as one worker sees it. The first worker has a thread for each of the others."""

    def __init__(
        self,
        group: Any,
        rank: int,
        size: int,
        number: int,
        buffer: Tensor,
        traffic: Traffic,
        interruption: Interruption,
    ) -> None:
        self._group, self._rank, self._tag, self._traffic = group, rank, number, traffic
        self._values = buffer.detach().view(-1).cpu().clone()
        self._using = threading.Lock()
        self._lane = Lane(f"variable {number}", interruption)
        self._servers = [
            threading.Thread(target=self._serve, args=(other,), name=f"variable for {other}", daemon=True)
            for other in range(1, size if rank == 0 else 0)
        ]
        for server in self._servers:
            server.start()

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together."""
        self._ask(SharedVariableRequest.EXCHANGE, buffer, alpha)

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable's values."""
        self._ask(SharedVariableRequest.READ, buffer)

    def write(self, buffer: Tensor) -> None:
        """Set the variable."""
        self._ask(SharedVariableRequest.WRITE, buffer)

    def close(self) -> None:
        """Leave the variable; the first worker waits until the others have."""
        if self._rank:
            with suppress(RuntimeError, PeerLostError):
                self._lane.do(lambda: self._send(torch.tensor([SharedVariableRequest.LEAVE, 0.0]).double(), 0))
        for server in self._servers:
            server.join(_LEAVE)
        self._lane.close()

    def _ask(self, request: SharedVariableRequest, buffer: Tensor, alpha: float = 0.0) -> None:
        start, staged = time.monotonic(), StagedBuffer(buffer)
        values = staged.fetch()

        def work() -> None:
            with peer_errors(f"{request.name.lower()} of the shared variable"):
                self._send(torch.tensor([request, alpha], dtype=torch.float64), 0)
                self._send(values, 0)
                self._group.recv([values], 0, self._tag).wait()

        if self._rank == 0:
            self._grant(request, values, alpha)
        else:
            self._lane.do(work)
        staged.put_back()
        self._traffic.add(moved=time.monotonic() - start, count=2 * values.nbytes if self._rank else 0)

    def _grant(self, request: SharedVariableRequest, values: Tensor, alpha: float) -> None:
        """Do what is asked, with a worker's values."""
        with self._using:
            if request is SharedVariableRequest.READ:
                values.copy_(self._values)
            elif request is SharedVariableRequest.WRITE:
                self._values.copy_(values)
            else:
                moved = (values - self._values).mul_(alpha)
                values.sub_(moved)
                self._values.add_(moved)

    def _serve(self, other: int) -> None:
        """Grant a worker's requests, until it is gone."""
        head, values = torch.empty(2, dtype=torch.float64), torch.empty_like(self._values)
        with suppress(RuntimeError):
            while True:
                self._group.recv([head], other, self._tag).wait(_IDLE)
                request = SharedVariableRequest(int(head[0]))
                if request is SharedVariableRequest.LEAVE:
                    return
                self._group.recv([values], other, self._tag).wait(_IDLE)
                self._grant(request, values, head[1].item())
                self._send(values, other)

    def _send(self, values: Tensor, to: int) -> None:
        self._group.send([values], to, self._tag).wait()
