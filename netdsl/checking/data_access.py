"""Whether the data that a net names can be read here."""

from __future__ import annotations

from collections.abc import Iterable

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.locations import error_label
from netdsl.layer import BringsData
from netdsl.layer.data import DataOrigin
from netdsl.layers import type_of
from netdsl.model.data_shapes import ReadShapes, read_shapes
from netdsl.net.graph import Graph


def unreadable_data(graphs: Iterable[Graph], read: ReadShapes) -> list[str]:
    """A sentence for each data layer whose source, or whose first item, can't be read; no camera is switched on."""
    sentences = (_problem(node.layer, type_of(node.layer), read) for graph in graphs for node in graph.nodes)
    return list(dict.fromkeys(sentence for sentence in sentences if sentence is not None))


def _problem(layer: pb.LayerParameter, kind: type | None, read: ReadShapes) -> str | None:
    if kind is None or not issubclass(kind, BringsData) or kind.data_origin is not DataOrigin.FILES:
        return None
    message = pb.LayerParameter()
    message.CopyFrom(layer)
    try:
        read_shapes(kind(message, []), read)
    except (CaffeError, OSError) as problem:
        return f"{error_label(layer)}: {problem}"
    return None
