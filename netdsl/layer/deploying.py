"""The treatment of layers in a deployed net: they are removed or rewritten, alone or with adjacent layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.blobs import Shape
from netdsl.layer.core import Layer

NewLayer = tuple[pb.LayerParameter, list[Tensor]]  # a replacement for a layer, with its blobs


class NotDeployed(Layer):
    """A layer that measures, compares with labels, or only serves layers that do."""

    predictions: ClassVar[tuple[int, ...]] = ()  # the bottoms that are predictions of the net


class Loss(NotDeployed):
    """A layer whose first top counts as a loss, even if the net doesn't name the top or its weight."""

    predictions: ClassVar[tuple[int, ...]] = (0,)
    unset_weight: float = 1.0  # the weight of the first top if the message contains no weights

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(layer.top) > 1 and not layer.loss_weight:
            self.caffe_notes.append(f"Caffe refuses {len(layer.top)} tops without loss_weight; give one for each")

    def loss_weights(self) -> list[float]:
        """Return the loss weight of each top. By default, the first top has the weight `unset_weight`, usually 1."""
        weights = super().loss_weights()
        return weights if self.layer.loss_weight else [self.unset_weight, *weights[1:]]


class HasInverse(Layer):
    """A layer of one bottom that can be computed from the top, such as the scores from which probabilities come."""

    def inverse(self, top: Tensor) -> Tensor:
        """Return a bottom that gives this top."""
        raise NotImplementedError


class WritesFile(NotDeployed):
    """A layer that writes its bottoms to a file and has no top."""

    waits = "writes a file"
    tops = (0, 0)


class ChannelAffine(Layer):
    """A layer that may only scale each channel and add to it in the TEST phase."""

    def channel_affine(self) -> tuple[Tensor, Tensor] | None:
        """Return the factor and the addend of each channel, or `None` if this layer computes something else."""
        raise NotImplementedError


class AbsorbsAffine(Layer):
    """A layer that can include the computation of a `ChannelAffine` layer after it."""

    def with_affine(self, factor: Tensor, shift: Tensor) -> NewLayer | None:
        """Return a layer that also scales each output channel and adds to it, or `None` if that is impossible."""
        raise NotImplementedError


class AbsorbsPreparation(Layer):
    """A layer that can prepare its input images itself."""

    def with_preparation(self, order: Sequence[int], shift: Tensor) -> NewLayer | None:
        """Return a layer that also reorders channels and adds to each first, or `None` if that is impossible."""
        raise NotImplementedError


class BecomesConvolution(Layer):
    """A layer that can be replaced by a convolution."""

    def as_convolution(self, bottom: Shape) -> NewLayer | None:
        """Return a convolution that computes the same values, or `None` if that is impossible.

        For larger images, it computes the layer at each position.
        """
        raise NotImplementedError


class ComputedByOthers(Layer):
    """A layer whose values more common layers compute too, for programs that don't have its type."""

    def in_other_layers(self) -> list[NewLayer] | None:
        """Return layers that compute the same values one after the other, or `None` if that is impossible."""
        raise NotImplementedError
