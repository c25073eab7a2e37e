"""Stubs: stand-ins for layers that can't be had, so that the rest of a net can be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from netdsl.layer import Layer, Shape
from netdsl.layers._data import TYPICAL
from netdsl.net.build import Types, type_of
from netdsl.net.graph import Graph, Node


class PlaceholderLayer(Layer):
    """Hands its first bottom on to every top; without a bottom it brings an image, or what is assumed."""

    bottoms = (0, None)
    tops = (0, None)
    in_place = True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """The first bottom's, or an image's, where none is assumed."""
        assumed = [tuple(shape.dim) for shape in self.layer.input_param.shape]
        shapes = [bottoms[0] if bottoms else (1, 3, TYPICAL, TYPICAL)] * len(self.layer.top)
        return [given or own for given, own in zip(assumed, shapes, strict=False)] + shapes[len(assumed) :]

    def forward(self, *bottoms: Tensor) -> tuple[Tensor, ...]:
        """The first bottom, again and again."""
        return tuple(torch.clone(bottoms[0]) for _ in self.layer.top)


def unavailable_layers(graph: Graph, types: Types) -> list[Node]:
    """The nodes whose type is unknown, or whose code is the user's own."""
    kinds = ((node, type_of(node, types)) for node in graph.nodes)
    return [node for node, kind in kinds if kind is None or kind.foreign]


def describe_type(node: Node) -> str:
    """A layer's type; of a Python layer the module and class that it names."""
    python = node.layer.python_param
    return f"{python.module}.{python.layer}" if node.layer.HasField("python_param") else node.layer.type


def with_placeholders(graph: Graph, types: Types) -> Types:
    """The types with stubs for those that are missing in a graph."""
    return {**types, **{node.layer.type: PlaceholderLayer for node in unavailable_layers(graph, types)}}
