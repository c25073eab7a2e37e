"""What a solver needs of a net, and the torch module with its data as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from netdsl.net.build import Built

Positions = Mapping[str, int]  # how many batches each data layer has handed out


class TrainableNet(Protocol):
    """A net with its data."""

    built: Built

    @property
    def batch_size(self) -> int:
        """How many items it takes at once."""
        ...

    def clear_gradients(self) -> None:
        """Forget the gradients of all blobs."""
        ...

    def forward(self) -> Tensor:
        """The loss of the next batch; nothing is learned from it."""
        ...

    def forward_backward(self) -> Tensor:
        """The loss of the next batch, whose gradients are added to those that are there."""
        ...

    def outputs(self) -> Mapping[str, Tensor]:
        """What the net made of the last batch."""
        ...

    def loss_weights(self) -> Mapping[str, float]:
        """What its outputs count in the loss."""
        ...

    def positions(self) -> Positions:
        """Where its data layers are."""
        ...

    def seek(self, positions: Positions) -> None:
        """Go on with the data from there."""
        ...
