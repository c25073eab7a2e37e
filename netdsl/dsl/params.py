"""NetParams: a net described in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import dialect_named
from caffe_proto.net_dialect import mark, mark_by_fields
from caffe_proto.text.prototxt import text_of
from netdsl.dsl.assign import assign
from netdsl.errors import NetError
from netdsl.net.graph import resolve_all

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import NetSettings


class NetParams:
    """The description of a net: an optional name and its layers. Layers that don't fit each other are a NetError.

    `message` is the net as Caffe's message; `prototxt()` is its text. `dialect` names the fork of Caffe that the net
    is for, where forks mean different things by the same type.
    """

    def __init__(
        self,
        *name_and_layers: str | pb.LayerParameter,
        dialect: str | None = None,
        **settings: Unpack[NetSettings],
    ) -> None:
        self.message = net_message(name_and_layers, settings, dialect)
        check_net(self.message)

    def prototxt(self) -> str:
        """The net as prototxt."""
        return text_of(self.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetParams) and self.message == other.message

    __hash__ = None  # type: ignore[assignment]  # the message can change

    def __repr__(self) -> str:
        return f"NetParams({self.message.name!r}, {len(self.message.layer)} layers)"


def net_message(
    name_and_layers: Sequence[Any], settings: Mapping[str, Any], dialect: str | None = None
) -> pb.NetParameter:
    """The message for the arguments of NetParams, without any checks of the net."""
    has_name = bool(name_and_layers) and isinstance(name_and_layers[0], str)
    net = pb.NetParameter(name=name_and_layers[0] if has_name else None)
    what = f"net '{net.name}'"
    for number, layer in enumerate(name_and_layers[has_name:], 1):
        if not isinstance(layer, pb.LayerParameter):
            hint = "; write * before it" if isinstance(layer, (list, tuple)) else ""
            raise NetError(f"{what}: number {number} of its layers is a {type(layer).__name__}, not a layer{hint}")
        net.layer.append(layer)
    assign(net, settings, what)
    if dialect is not None:
        mark(net, [dialect_named(dialect).name])
    return net


def check_net(net: pb.NetParameter) -> None:
    """Raise a NetError if layer types, connections, shapes or fillers are wrong in a phase of the net."""
    from netdsl.net.build import build, check_fillers  # needs torch, for which nobody should wait who reads a net

    marked = pb.NetParameter()
    marked.CopyFrom(net)
    mark_by_fields(marked)
    for graph in resolve_all(marked):
        check_fillers(build(graph))
