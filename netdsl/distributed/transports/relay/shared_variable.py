"""A centre variable as a worker sees it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from netdsl.distributed.transports.relay.connection import Bytes
from netdsl.distributed.transports.relay.request import RelayOperation, RelayRequest
from netdsl.distributed.transports.staging import Staged, kind_of

NOTHING: Bytes = np.empty(0, np.uint8)


class RelayVariable:
    """It lies at the driver; `ask` brings a request there with values, and what comes back."""

    def __init__(self, ask: Callable[[RelayRequest, Bytes, Bytes], None], number: int) -> None:
        self._ask, self._number = ask, number

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together."""
        staged = Staged(buffer)
        values = staged.fetch()
        self._ask(self._request(RelayOperation.EXCHANGE, buffer, alpha), values, values)
        staged.put_back()

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with what it is now."""
        staged = Staged(buffer)
        self._ask(self._request(RelayOperation.READ, buffer), NOTHING, staged.fetch())
        staged.put_back()

    def write(self, buffer: Tensor) -> None:
        """Set it."""
        self._ask(self._request(RelayOperation.WRITE, buffer), Staged(buffer).fetch(), NOTHING)

    def _request(self, wish: RelayOperation, buffer: Tensor, alpha: float = 0.0) -> RelayRequest:
        return RelayRequest(wish, kind_of(buffer), buffer.numel(), self._number, alpha)
