"""`NotDeployed` and `Loss`: layers that a net has for training and testing, and that a net to deploy hasn't."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.blobs import Shape
from netdsl.layer.core import Layer


class NotDeployed(Layer):
    """A layer that measures, compares with labels, or only serves others that do."""

    predictions: ClassVar[tuple[int, ...]] = ()  # the bottoms that are what the net predicts


class Loss(NotDeployed):
    """A layer whose first top counts as a loss, also where the net names no top and no weight for it."""

    predictions: ClassVar[tuple[int, ...]] = (0,)
    unset_weight: float = 1.0  # what the first top weighs where the message has no weights

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(layer.top) > 1 and not layer.loss_weight:
            self.caffe_notes.append(f"Caffe refuses {len(layer.top)} tops without loss_weight; give one for each")

    def loss_weights(self) -> list[float]:
        """What each top adds to the loss: as a rule 1 for the first one, where the message has no weights."""
        weights = super().loss_weights()
        return weights if self.layer.loss_weight else [self.unset_weight, *weights[1:]]


class WritesFile(NotDeployed):
    """A layer that writes its bottoms to a file, and makes no top."""

    waits = "writes a file"
    tops = (0, 0)
