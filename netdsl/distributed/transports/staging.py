"""A buffer's values in main memory, from where every transport can move them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.errors import DistributedError


class StagedBuffer:
    """A buffer that lies in main memory itself, or on a GPU, from which it is copied by way of pinned memory."""

    def __init__(self, buffer: Tensor) -> None:
        if buffer.device.type not in ("cpu", "cuda"):
            raise DistributedError(
                f"a buffer on {buffer.device} can't be exchanged; move it to main memory or to a GPU"
            )
        self._buffer = self.host = buffer.detach().view(-1)
        self._ready: torch.cuda.Event | None = None
        if buffer.is_cuda:
            self.host = torch.empty_like(self._buffer, device="cpu", pin_memory=True)
            self._ready = torch.cuda.current_stream(buffer.device).record_event()

    def fetch(self) -> Tensor:
        """The values in main memory, as soon as they are computed."""
        if self._ready is not None:
            self._ready.synchronize()
            self.host.copy_(self._buffer)
        return self.host

    def array(self) -> NDArray[Any]:
        """The values as numpy sees them."""
        values: NDArray[Any] = self.fetch().numpy()
        return values

    def bytes(self) -> NDArray[np.uint8]:
        """The values' bytes, of any type."""
        raw: NDArray[np.uint8] = self.fetch().view(torch.uint8).numpy()
        return raw

    def put_back(self) -> None:
        """Give the buffer the values that are in main memory now."""
        if self.host is not self._buffer:
            self._buffer.copy_(self.host)
