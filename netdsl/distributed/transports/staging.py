"""A buffer's values in main memory, from where they can be sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from netdsl.distributed.transports.relay.connection import Bytes
from netdsl.distributed.transports.relay.request import SUMMED
from netdsl.errors import DistributedError

_KINDS: dict[torch.dtype, np.dtype[Any]] = dict(zip((torch.float32, torch.float64, torch.int64), SUMMED, strict=True))


def kind_of(buffer: Tensor) -> np.dtype[Any]:
    """What the driver is told to add up."""
    if buffer.dtype not in _KINDS:
        raise DistributedError(f"{buffer.dtype} values can't be added up; give float32, float64 or int64")
    return _KINDS[buffer.dtype]


class Staged:
    """The bytes of a buffer that lies there itself, or on a GPU, for which a place there is found."""

    def __init__(self, buffer: Tensor) -> None:
        if buffer.device.type not in ("cpu", "cuda"):
            raise DistributedError(f"a buffer on {buffer.device} can't be sent; move it to main memory or to a GPU")
        self._own = self._host = buffer.detach().view(-1).view(torch.uint8)
        self._ready: torch.cuda.Event | None = None
        if buffer.is_cuda:
            self._host = torch.empty_like(self._own, device="cpu", pin_memory=True)
            self._ready = torch.cuda.current_stream(buffer.device).record_event()

    def fetch(self) -> Bytes:
        """Its values, as soon as they are computed."""
        if self._ready is not None:
            self._ready.synchronize()
            self._host.copy_(self._own)
        found: Bytes = self._host.numpy()
        return found

    def put_back(self) -> None:
        """Give it the values that are there now."""
        if self._host is not self._own:
            self._own.copy_(self._host)
