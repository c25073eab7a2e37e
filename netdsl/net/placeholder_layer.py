"""Placeholders for layers of unknown types or with private code, so that the rest of a net can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Layer, Shape
from netdsl.layer.data import stated_shapes
from netdsl.layer.user_code import RunsUserCode, is_allowed, python_name
from netdsl.layers import type_of
from netdsl.net.graph import Graph


class PlaceholderLayer(Layer):
    """A layer whose tops are all copies of its first bottom. Without a bottom, it stands for data."""

    bottoms = (0, None)
    tops = (0, None)
    in_place = True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes that the layer's message states, or else the first bottom's shape."""
        stated = stated_shapes(self.layer)
        if not bottoms and (len(stated) < len(self.layer.top) or not all(stated)):
            raise NetError(
                f"the shapes of a layer of type {describe_type(self.layer)} are unknown; write the layer as an "
                "Input layer with its shapes in input_param"
            )
        shapes = list(bottoms[:1]) * len(self.layer.top)
        return [known or shape for known, shape in zip_longest(stated, shapes, fillvalue=())]

    def forward(self, *bottoms: Tensor) -> tuple[Tensor, ...]:
        """Return a copy of the first bottom for each top."""
        return tuple(torch.clone(bottoms[0]) for _ in self.layer.top)


def is_unavailable(layer: pb.LayerParameter) -> bool:
    """Return whether a layer's type is unknown, or its code isn't allowed to run."""
    kind = type_of(layer)
    return kind is None or (issubclass(kind, RunsUserCode) and not is_allowed(layer))


def unavailable_types(graphs: Iterable[Graph]) -> list[str]:
    """Return the types that are unknown, and the Python layers whose code isn't allowed to run."""
    layers = (node.layer for graph in graphs for node in graph.nodes)
    return sorted({describe_type(layer) for layer in layers if is_unavailable(layer)})


def describe_type(layer: pb.LayerParameter) -> str:
    """Return a layer's type. For a Python layer, this is the module and class that it names."""
    return python_name(layer) or layer.type
