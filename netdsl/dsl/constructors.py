"""A function for every layer type: its keyword arguments are the fields of the type's own message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, fields_of
from netdsl.dsl.assign import assign
from netdsl.layer import Layer

_OF_EVERY_LAYER = fields_of(pb.LayerParameter)


class Constructor:
    """Makes layers of one type: `Convolution("conv1", ["data"], num_output=20, kernel_size=5)`.

    `bottoms` are blob names. The top is called as the layer unless `tops` says otherwise; `in_place=True` gives the
    top the name of the bottom. Settings are fields of the type's own message, or of every layer (`loss_weight`,
    `param`, `include`, ...).
    """

    def __init__(self, type_name: str, kind: type[Layer] | None) -> None:
        self.type = type_name
        self.kind = kind
        self.__name__ = type_name
        self.field = settings_field(kind.config) if kind is not None and kind.config is not None else None

    def __repr__(self) -> str:
        return self.type

    def __call__(
        self,
        name: str,
        bottoms: Sequence[str] = (),
        *,
        tops: Sequence[str] | None = None,
        in_place: bool = False,
        **settings: Any,
    ) -> pb.LayerParameter:
        """One layer."""
        layer = pb.LayerParameter(name=name, type=self.type, bottom=[bottoms] if isinstance(bottoms, str) else bottoms)
        given = [tops] if isinstance(tops, str) else tops
        layer.top.extend(layer.bottom[:1] if in_place else self.usual_tops(name) if given is None else given)
        what = f"layer '{name}' of type {self.type}"
        own = {key: value for key, value in settings.items() if key not in _OF_EVERY_LAYER}
        assign(layer, {key: value for key, value in settings.items() if key in _OF_EVERY_LAYER}, what)
        if own:
            assign(getattr(layer, self.field) if self.field else layer, own, what)
        return layer

    def usual_tops(self, name: str) -> list[str]:
        """The tops of a layer that doesn't say otherwise."""
        silent = self.kind is not None and self.kind.tops[1] == 0
        return [] if silent else [name]


def settings_field(config: type[Message]) -> str:
    """The field of a layer that holds settings of this kind."""
    wanted = descriptor_of(config)
    return next(name for name, field in _OF_EVERY_LAYER.items() if field.message_type is wanted)
