"""The values of a variable in the first worker's memory, which serves them to the others over torch.distributed."""

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
from netdsl.errors import PeerLostError

_SOURCE_LINE = re.compile(r"^\[\S+:\d+\] ?")  # in gloo's source, with which its errors begin
_LEAVE = 5.0  # seconds for the others to leave
_IDLE = timedelta(days=365)  # a worker asks when it likes; that it is gone is seen by its connection


class SharedVariableRequest(IntEnum):
    """What a worker asks the first one for."""

    READ = 0
    WRITE = 1
    ADD = 2
    LEAVE = 3  # the worker needs the variable no more


@contextmanager
def peer_errors(doing: str) -> Iterator[None]:
    """Turn torch's errors while others are waited for into a PeerLostError."""
    try:
        yield
    except RuntimeError as problem:
        reason = _SOURCE_LINE.sub("", (str(problem).splitlines() or [type(problem).__name__])[0])
        raise PeerLostError(f"{doing}: {reason}") from None


class TorchValues:
    """The values as one worker sees them. The first worker has a thread for each of the others."""

    def __init__(self, group: Any, rank: int, size: int, number: int, buffer: Tensor, traffic: Traffic) -> None:
        self._group, self._rank, self._tag, self._traffic = group, rank, number, traffic
        self._values = buffer.detach().view(-1).cpu().clone()
        self._using = threading.Lock()
        self._servers = [
            threading.Thread(target=self._serve, args=(other,), name=f"variable for {other}", daemon=True)
            for other in range(1, size if rank == 0 else 0)
        ]
        for server in self._servers:
            server.start()

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        self._ask(SharedVariableRequest.READ, values)

    def write(self, values: Tensor) -> None:
        """Set the variable."""
        self._ask(SharedVariableRequest.WRITE, values)

    def add(self, values: Tensor) -> None:
        """Add to the variable."""
        self._ask(SharedVariableRequest.ADD, values)

    def leave(self) -> None:
        """Leave the variable; the first worker waits until the others have."""
        if self._rank:
            with peer_errors("leaving the shared variable"):
                self._send(_head(SharedVariableRequest.LEAVE), 0)
        for server in self._servers:
            server.join(_LEAVE)

    def _ask(self, request: SharedVariableRequest, values: Tensor) -> None:
        """Ask the first worker, who sends the values that are read, or says that it has those that are sent."""
        if self._rank == 0:
            self._grant(request, values)
            return
        start, head = time.monotonic(), _head(request)
        with peer_errors(f"{request.name.lower()} of the shared variable"):
            self._send(head, 0)
            if request is not SharedVariableRequest.READ:
                self._send(values, 0)
            self._group.recv([values if request is SharedVariableRequest.READ else head], 0, self._tag).wait()
        self._traffic.add(moved=time.monotonic() - start, count=values.nbytes)

    def _grant(self, request: SharedVariableRequest, values: Tensor) -> None:
        """Do what is asked, with a worker's values."""
        with self._using:
            if request is SharedVariableRequest.READ:
                values.copy_(self._values)
            elif request is SharedVariableRequest.WRITE:
                self._values.copy_(values)
            else:
                self._values.add_(values)

    def _serve(self, other: int) -> None:
        """Grant a worker's requests, until it is gone."""
        head, values = _head(SharedVariableRequest.READ), torch.empty_like(self._values)
        with suppress(RuntimeError):
            while True:
                self._await(head, other)
                request = SharedVariableRequest(int(head))
                if request is SharedVariableRequest.LEAVE:
                    return
                if request is not SharedVariableRequest.READ:
                    self._await(values, other)
                self._grant(request, values)
                self._send(values if request is SharedVariableRequest.READ else head, other)

    def _send(self, values: Tensor, to: int) -> None:
        self._group.send([values], to, self._tag).wait()

    def _await(self, values: Tensor, source: int) -> None:
        """Receive what a worker sends whenever it likes."""
        self._group.recv([values], source, self._tag).wait(_IDLE)


def _head(request: SharedVariableRequest) -> Tensor:
    """A request as it is sent."""
    return torch.tensor([request], dtype=torch.int64)
