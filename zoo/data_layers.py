"""The data layers of a net whose sources a command can name."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.open_source import parse_joined, parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.sources.source_name import Content
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
    return data if are_marked_images(data) else str(parse_source(data).with_split(split))


def are_marked_images(data: str) -> bool:
    """Whether data are images with marked objects, of one set or of several."""
    return parse_joined(data)[0].content is Content.MARKED_IMAGES


def _type(layer: pb.LayerParameter) -> type[Layer]:
    return type_of(layer) or Layer
