"""A worker's requests to the relay, as they go over the network."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from netdsl.errors import DistributedError

NUMBERS = 4096  # that one gather holds
REAL = np.dtype(np.float64)
RAW = np.dtype(np.uint8)
SUMMED: tuple[np.dtype[Any], ...] = (
    np.dtype(np.float32),
    REAL,
    np.dtype(np.int64),
)  # kinds of values that can be added up
_KINDS = (*SUMMED, RAW)
_MOST = 1 << 40  # values; what claims more is no request
_FORM = struct.Struct("<BBxxiQd")
LENGTH = _FORM.size  # of a request, in bytes


class RelayOperation(IntEnum):
    """Everything that a worker can ask for."""

    MEAN = 1
    REDUCE = 2
    BROADCAST = 3
    SEND = 4
    RECEIVE = 5
    GATHER = 6
    VARIABLE = 7
    READ = 8
    WRITE = 9
    ADD = 10


CHANGES = (RelayOperation.READ, RelayOperation.WRITE, RelayOperation.ADD)  # what is done with a variable
_TEXTS = {
    RelayOperation.MEAN: "mean of {0.count} {0.kind}",
    RelayOperation.REDUCE: "reduce to {0.other} of {0.count} {0.kind}",
    RelayOperation.BROADCAST: "broadcast of {0.count} bytes from {0.other}",
    RelayOperation.SEND: "send of {0.count} bytes to {0.other}",
    RelayOperation.RECEIVE: "receive of {0.count} bytes from {0.other}",
    RelayOperation.GATHER: "gather of {0.count} numbers",
    RelayOperation.VARIABLE: "variable of {0.count} {0.kind}",
    RelayOperation.READ: "read of the variable",
    RelayOperation.WRITE: "write of the variable",
    RelayOperation.ADD: "change of the variable",
}


@dataclass(frozen=True)
class RelayRequest:
    """An operation and its arguments. The values that the driver needs for it follow on the connection."""

    operation: RelayOperation
    kind: np.dtype[Any] = RAW
    count: int = 0  # of values
    other: int = 0  # the root, who receives or sends, or the number of a variable
    value: float = 1.0  # a weight

    def __str__(self) -> str:
        return _TEXTS[self.operation].format(self)

    def packed(self) -> bytes:
        """As it goes over the network."""
        return _FORM.pack(self.operation, _KINDS.index(self.kind), self.other, self.count, self.value)

    @classmethod
    def of(cls, data: bytes) -> RelayRequest:
        """What came over the network; a DistributedError if that is nonsense."""
        operation, kind, other, count, value = _FORM.unpack(data)
        try:
            request = cls(RelayOperation(operation), _KINDS[kind], count, other, value)
        except (ValueError, IndexError):
            raise DistributedError("a request that nobody understands") from None
        if count > (NUMBERS if request.operation is RelayOperation.GATHER else _MOST):
            raise DistributedError(f"a request for {count} values at once")
        return request

    @property
    def common(self) -> tuple[object, ...]:
        """What must be equal for all workers of an operation; only the weight may differ."""
        return self.operation, self.kind, self.count, self.other
