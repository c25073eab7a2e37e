"""Checks whether the data that a net names can be read here."""

from __future__ import annotations

from collections.abc import Iterable

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.locations import error_label
from netdsl.layer.data import DataOrigin
from netdsl.layers import data_layer_of
from netdsl.model.data_shapes import ReadShapes, read_shapes
from netdsl.net.graph import Graph


def unreadable_data(graphs: Iterable[Graph], read: ReadShapes) -> list[str]:
    """Return a sentence for each data layer whose source or first item can't be read. Cameras aren't switched on."""
    sentences = (_problem(node.layer, read) for graph in graphs for node in graph.nodes)
    return list(dict.fromkeys(sentence for sentence in sentences if sentence is not None))


def _problem(message: pb.LayerParameter, read: ReadShapes) -> str | None:
    try:
        layer = data_layer_of(message)
        if layer is not None and layer.data_origin is DataOrigin.FILES:
            read_shapes(layer, read)
    except (CaffeError, OSError) as problem:
        return f"{error_label(message)}: {problem}"
    return None
