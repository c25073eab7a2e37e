"""What becomes of layers in a net to use: they go, or are rewritten, also together with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.blobs import Shape
from netdsl.layer.core import Layer

NewLayer = tuple[pb.LayerParameter, list[Tensor]]  # a layer in the place of another one, and its blobs


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
        """Return what each top adds to the loss: as a rule 1 for the first one, where the message has no weights."""
        weights = super().loss_weights()
        return weights if self.layer.loss_weight else [self.unset_weight, *weights[1:]]


class WritesFile(NotDeployed):
    """A layer that writes its bottoms to a file, and makes no top."""

    waits = "writes a file"
    tops = (0, 0)


class ChannelAffine(Layer):
    """A layer that may do nothing else, in a test, than to multiply every channel and add to it."""

    def channel_affine(self) -> tuple[Tensor, Tensor] | None:
        """Return what every channel is multiplied by, and what is added then; None if this layer does something
        else."""
        raise NotImplementedError


class AbsorbsAffine(Layer):
    """A layer that can do the work of a `ChannelAffine` layer after it."""

    def with_affine(self, factor: Tensor, shift: Tensor) -> NewLayer | None:
        """Return a layer that also multiplies every channel of its top and adds to it, if there can be one."""
        raise NotImplementedError


class AbsorbsPreparation(Layer):
    """A layer that can prepare the images that it takes by itself."""

    def with_preparation(self, order: Sequence[int], shift: Tensor) -> NewLayer | None:
        """Return a layer that first puts channels in another order and adds a number to each, if there can be one."""
        raise NotImplementedError


class BecomesConvolution(Layer):
    """A layer that a convolution can stand for."""

    def as_convolution(self, bottom: Shape) -> NewLayer | None:
        """Return a convolution that computes the same and, of a larger image, at every place; if there can be one."""
        raise NotImplementedError
