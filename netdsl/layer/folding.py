"""Layers that can be rewritten together with their neighbours, and compute the same: folded, or as convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.blobs import Shape
from netdsl.layer.core import Layer

NewLayer = tuple[pb.LayerParameter, list[Tensor]]  # a layer in the place of another one, and its blobs


class ChannelAffine(Layer):
    """A layer that may do nothing else, in a test, than to multiply every channel and add to it."""

    def channel_affine(self) -> tuple[Tensor, Tensor] | None:
        """What every channel is multiplied by, and what is added then; None if this layer does something else."""
        raise NotImplementedError


class AbsorbsAffine(Layer):
    """A layer that can do the work of a `ChannelAffine` layer after it."""

    def with_affine(self, factor: Tensor, shift: Tensor) -> NewLayer | None:
        """A layer that also multiplies every channel of its top and adds to it, if there can be one."""
        raise NotImplementedError


class AbsorbsPreparation(Layer):
    """A layer that can prepare the images that it takes by itself."""

    def with_preparation(self, order: Sequence[int], shift: Tensor) -> NewLayer | None:
        """A layer that first puts channels in another order and adds a number to each, if there can be one."""
        raise NotImplementedError


class BecomesConvolution(Layer):
    """A layer that a convolution can stand for."""

    def as_convolution(self, bottom: Shape) -> NewLayer | None:
        """A convolution that computes the same and, of a larger image, at every place; if there can be one."""
        raise NotImplementedError
