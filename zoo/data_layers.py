"""The data layers of a net whose sources a command can name."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.open_annotated import names_annotated_set
from netdsl.data.sources.open_source import with_split
from netdsl.data.sources.source import DataSplit
from netdsl.layer import Layer
from netdsl.layer.data import NamesSource
from netdsl.layers import type_of


def data_layers(net: pb.NetParameter) -> list[pb.LayerParameter]:
    """The layers that read a source."""
    return [layer for layer in net.layer if layer.HasField("data_param") or issubclass(_type(layer), NamesSource)]


def set_source(layer: pb.LayerParameter, source: str) -> None:
    """Let a data layer read another source."""
    kind = _type(layer)
    if issubclass(kind, NamesSource):
        kind.name_source(layer, source)
    else:
        layer.data_param.source = source


def source_for(data: str, split: DataSplit) -> str:
    """The full name of data, with a split if their kind has splits; images with marked objects have lists instead."""
    return data if names_annotated_set(data) else with_split(data, split)


def _type(layer: pb.LayerParameter) -> type[Layer]:
    return type_of(layer) or Layer
