"""A shared variable whose changes are pushed in a lane, while the worker computes."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

import torch
from torch import Tensor

from netdsl.distributed.transports.lane import Lane, Operation
from netdsl.distributed.transports.staging import StagedBuffer
from netdsl.errors import DistributedError


class VariableValues(Protocol):
    """The values of a shared variable, wherever they lie. Nobody else changes them while one of these operations does.

    Operations take a flat tensor in main memory, and block.
    """

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        ...

    def write(self, values: Tensor) -> None:
        """Set the variable to a tensor's values."""
        ...

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        ...

    def leave(self) -> None:
        """Say that this worker needs the variable no more."""
        ...


class LaneVariable:
    """A shared variable as one worker sees it. Its lane keeps what the worker does with it in order."""

    def __init__(self, values: VariableValues, lane: Lane) -> None:
        self._values, self._lane = values, lane
        self._difference: Tensor | None = None  # that is pushed

    def exchange(self, buffer: Tensor, alpha: float) -> Operation:
        """Draw the buffer towards the variable, and push the difference to the variable."""
        staged = StagedBuffer(buffer)
        values = staged.fetch()
        if self._difference is None or self._difference.shape != values.shape:
            self._difference = torch.empty_like(values)
        difference = self._difference
        self._lane.do(lambda: self._values.read(difference))
        torch.sub(values, difference, out=difference).mul_(alpha)
        values.sub_(difference)
        staged.put_back()
        return self._lane.add(lambda: self._values.add(difference))

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable's values."""
        staged = StagedBuffer(buffer)
        self._lane.do(lambda: self._values.read(staged.host))
        staged.put_back()

    def write(self, buffer: Tensor) -> None:
        """Set the variable."""
        values = StagedBuffer(buffer).fetch()
        self._lane.do(lambda: self._values.write(values))

    def close(self) -> None:
        """Leave the variable, after everything that is under way."""
        with suppress(DistributedError):  # whoever is lost needs no farewell
            self._lane.do(self._values.leave)
        self._lane.close()
