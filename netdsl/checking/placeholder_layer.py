"""Placeholders for layers of unknown types or with private code, so that the rest of a net can be checked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from netdsl.layer import Layer, Shape
from netdsl.layer.data import TYPICAL_SIDE, stated_shapes
from netdsl.layer.user_code import RunsUserCode, is_allowed, python_name
from netdsl.net.build import Types, type_of
from netdsl.net.graph import Graph, Node


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


def unavailable_layers(graph: Graph, types: Types) -> list[Node]:
    """The nodes whose type is unknown, or whose code isn't allowed to run."""
    kinds = ((node, type_of(node, types)) for node in graph.nodes)
    return [
        node for node, kind in kinds if kind is None or (issubclass(kind, RunsUserCode) and not is_allowed(node.layer))
    ]


def describe_type(node: Node) -> str:
    """A layer's type; of a Python layer the module and class that it names."""
    return python_name(node.layer) or node.layer.type


def with_placeholders(graph: Graph, types: Types) -> Types:
    """The types, with placeholders for those that a graph needs and that aren't available."""
    return {**types, **{node.layer.type: PlaceholderLayer for node in unavailable_layers(graph, types)}}
