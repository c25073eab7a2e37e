"""A net described in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl.dsl.assign import assign
from netdsl.errors import NetError
from netdsl.layers import LAYERS
from netdsl.net.build import Types, build
from netdsl.net.graph import resolve_all

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import NetSettings


class NetParams:
    """A name, which can be left out, and layers. What doesn't fit is an error here, where it is written.

    `message` is the net as Caffe knows it; `prototxt()` is its text.
    """

    def __init__(
        self, *name_and_layers: str | pb.LayerParameter, types: Types = LAYERS, **settings: Unpack[NetSettings]
    ) -> None:
        self.message = describe(name_and_layers, settings)
        check(self.message, types)

    def prototxt(self) -> str:
        """The net as prototxt."""
        return text_of(self.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetParams) and self.message == other.message

    __hash__ = None  # type: ignore[assignment]  # the message can change

    def __repr__(self) -> str:
        return f"NetParams({self.message.name!r}, {len(self.message.layer)} layers)"


def describe(name_and_layers: Sequence[Any], settings: Mapping[str, Any]) -> pb.NetParameter:
    """The message that the arguments of NetParams stand for, whether or not such a net would work."""
    named = bool(name_and_layers) and isinstance(name_and_layers[0], str)
    net = pb.NetParameter(name=name_and_layers[0] if named else None)
    what = f"net '{net.name}'"
    for place, layer in enumerate(name_and_layers[named:], 1):
        if not isinstance(layer, pb.LayerParameter):
            hint = "; write * before it" if isinstance(layer, (list, tuple)) else ""
            raise NetError(f"{what}: number {place} of its layers is a {type(layer).__name__}, not a layer{hint}")
        net.layer.append(layer)
    assign(net, settings, what)
    return net


def check(net: pb.NetParameter, types: Types = LAYERS) -> None:
    """A NetError if the net wouldn't work in the phases that it is for: layer types, connections, shapes."""
    for graph in resolve_all(net):
        build(graph, types)
