"""The protocol of a net that a solver can train or test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from netdsl.net.build import Built
from netdsl.solver.loss_scale import LossScale

Positions = Mapping[str, int]  # the number of batches that each data layer has handed out


class TrainableNet(Protocol):
    """A net with its data: every run takes the next batch."""

    built: Built
    loss_scale: LossScale | None  # by which gradients are multiplied

    @property
    def batch_size(self) -> int:
        """The number of items in a batch."""
        ...

    def clear_gradients(self) -> None:
        """Clear the gradients of all blobs."""
        ...

    def forward(self) -> Tensor:
        """The loss of the next batch, without gradients."""
        ...

    def forward_backward(self) -> Tensor:
        """The loss of the next batch, whose gradients are added to those of the blobs."""
        ...

    def outputs(self) -> Mapping[str, Tensor]:
        """The net's outputs for the last batch."""
        ...

    def loss_weights(self) -> Mapping[str, float]:
        """The weights in the loss of those outputs that are losses."""
        ...

    def positions(self) -> Positions:
        """The positions of the data layers."""
        ...

    def seek(self, positions: Positions) -> None:
        """Continue with the data at these positions."""
        ...
