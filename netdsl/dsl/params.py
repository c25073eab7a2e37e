"""A net described in Python."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl.build import Types, build
from netdsl.graph import Phase, resolve
from netdsl.layers import LAYERS


class NetParams:
    """A name and layers. What doesn't fit is an error here, where it is written, and not when the net runs.

    `message` is the net as Caffe knows it; `prototxt()` is its text.
    """

    def __init__(self, name: str, *layers: pb.LayerParameter, types: Types = LAYERS) -> None:
        self.message = pb.NetParameter(name=name, layer=layers)
        for phase in self._phases():
            build(resolve(self.message, phase), types)

    def _phases(self) -> list[Phase]:
        """Both, if any layer belongs to one of them only."""
        either = any(layer.include or layer.exclude for layer in self.message.layer)
        return [Phase.TRAIN, Phase.TEST] if either else [Phase.TRAIN]

    def prototxt(self) -> str:
        """The net as prototxt."""
        return text_of(self.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetParams) and self.message == other.message

    __hash__ = None  # type: ignore[assignment]  # the message can change

    def __repr__(self) -> str:
        return f"NetParams({self.message.name!r}, {len(self.message.layer)} layers)"
