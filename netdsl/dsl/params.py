"""A net described in Python."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl.build import Types, build
from netdsl.dsl.assign import assign
from netdsl.graph import resolve_all
from netdsl.layers import LAYERS


class NetParams:
    """A name and layers. What doesn't fit is an error here, where it is written, and not when the net runs.

    `message` is the net as Caffe knows it; `prototxt()` is its text.
    """

    def __init__(self, name: str, *layers: pb.LayerParameter, types: Types = LAYERS, **settings: Any) -> None:
        self.message = pb.NetParameter(name=name or None, layer=layers)
        assign(self.message, settings, f"net '{name}'")
        for graph in resolve_all(self.message):
            build(graph, types)

    def prototxt(self) -> str:
        """The net as prototxt."""
        return text_of(self.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetParams) and self.message == other.message

    __hash__ = None  # type: ignore[assignment]  # the message can change

    def __repr__(self) -> str:
        return f"NetParams({self.message.name!r}, {len(self.message.layer)} layers)"
