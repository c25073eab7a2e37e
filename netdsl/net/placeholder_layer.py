"""Placeholders for layers of unknown types or with private code, so that the rest of a net can be checked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer, Shape
from netdsl.layer.data import TYPICAL_SIDE, stated_shapes
from netdsl.layer.user_code import RunsUserCode, is_allowed, python_name
from netdsl.layers import type_of


class PlaceholderLayer(Layer):
    """A layer whose every top is its first bottom; without a bottom it stands for data."""

    bottoms = (0, None)
    tops = (0, None)
    in_place = True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """The shapes that its message states; else the first bottom's, or an image's."""
        stated = stated_shapes(self.layer)
        shapes = [bottoms[0] if bottoms else (1, 3, TYPICAL_SIDE, TYPICAL_SIDE)] * len(self.layer.top)
        return [known or shape for known, shape in zip(stated, shapes, strict=False)] + shapes[len(stated) :]

    def forward(self, *bottoms: Tensor) -> tuple[Tensor, ...]:
        """The first bottom, once for every top."""
        return tuple(torch.clone(bottoms[0]) for _ in self.layer.top)


def is_unavailable(layer: pb.LayerParameter) -> bool:
    """Whether a layer's type is unknown, or its code isn't allowed to run."""
    kind = type_of(layer)
    return kind is None or (issubclass(kind, RunsUserCode) and not is_allowed(layer))


def describe_type(layer: pb.LayerParameter) -> str:
    """A layer's type; of a Python layer the module and class that it names."""
    return python_name(layer) or layer.type
