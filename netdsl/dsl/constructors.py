"""A function for every layer type: its keyword arguments are the fields of the type's own message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, fields_of
from netdsl.dsl.assign import assign, unknown_setting
from netdsl.errors import NetError
from netdsl.layer import Layer

OF_EVERY_LAYER = fields_of(pb.LayerParameter)
_SAID_BY = {"name": "the first argument", "type": "the function", "bottom": "bottoms=[...]", "top": "tops=[...]"}
STRUCTURE = frozenset(_SAID_BY)
ARGUMENTS = frozenset({"bottoms", "tops", "in_place", "layer"})  # what else a call can say, beside settings


class Constructor:
    """Makes layers of one type: `Convolution("conv1", ["data"], num_output=20, kernel_size=5)`.

    `bottoms` are blob names. The top is called as the layer unless `tops` says otherwise; `in_place=True` gives the
    top the name of the bottom. Settings are fields of the type's own message, or of every layer (`loss_weight`,
    `param`, `include`, ...); where both have one of that name, `layer={...}` sets the layer's.
    """

    def __init__(self, type_name: str, kind: type[Layer] | None = None) -> None:
        self.type = type_name
        self.kind = kind
        self.__name__ = type_name
        self.__doc__ = kind.__doc__ if kind is not None else None
        config = kind.config if kind is not None else None
        self.field = settings_field(config) if config is not None else None
        self.own = own_settings(config) if config is not None else frozenset()

    def __repr__(self) -> str:
        return self.type

    def __call__(
        self,
        name: str | None,
        bottoms: Sequence[str] | str = (),
        *,
        tops: Sequence[str] | str | None = None,
        in_place: bool = False,
        layer: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> pb.LayerParameter:
        """One layer."""
        what = f"layer '{name or ''}' of type {self.type}"
        made = pb.LayerParameter(name=name, type=self.type)
        made.bottom.extend(_names(bottoms, f"{what}: bottoms"))
        made.top.extend(self._tops(made, tops, in_place, what))
        self._check_names(settings, what)
        assign(made, dict(layer or {}), what)
        assign(made, {key: value for key, value in settings.items() if key not in self.own}, what)
        own = {key: value for key, value in settings.items() if key in self.own}
        if own:
            assert self.field is not None
            assign(getattr(made, self.field), own, what)
        return made

    def _tops(
        self, made: pb.LayerParameter, tops: Sequence[str] | str | None, in_place: bool, what: str
    ) -> Sequence[str]:
        if in_place and tops is not None:
            raise NetError(f"{what}: give tops or in_place, not both")
        if in_place and not made.bottom:
            raise NetError(f"{what}: in_place needs a bottom")
        if in_place:
            return made.bottom[:1]
        return self.usual_tops(made) if tops is None else _names(tops, f"{what}: tops")

    def _check_names(self, settings: Mapping[str, Any], what: str) -> None:
        for name in settings:
            if name in self.own:
                continue
            if name in STRUCTURE:
                raise NetError(f"{what}: '{name}' is no setting; it is given by {_SAID_BY[name]}")
            if name not in OF_EVERY_LAYER:
                raise unknown_setting(name, [*self.own, *OF_EVERY_LAYER], what)

    def usual_tops(self, layer: pb.LayerParameter) -> list[str]:
        """The tops of a layer that doesn't say otherwise."""
        silent = self.kind is not None and self.kind.tops[1] == 0
        return [] if silent or not layer.HasField("name") else [layer.name]


def settings_field(config: type[Message]) -> str:
    """The field of a layer that holds settings of this kind."""
    wanted = descriptor_of(config)
    return next(name for name, field in OF_EVERY_LAYER.items() if field.message_type is wanted)


def own_settings(config: type[Message]) -> frozenset[str]:
    """The names that mean a type's own field. Of two fields of one name, BVLC's has a lower number than a fork's."""
    return frozenset(
        name
        for name, field in fields_of(config).items()
        if name not in ARGUMENTS
        and (name not in OF_EVERY_LAYER or name in STRUCTURE or field.number < OF_EVERY_LAYER[name].number)
    )


def _names(given: Sequence[str] | str, what: str) -> Sequence[str]:
    names = [given] if isinstance(given, str) else given
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise NetError(f"{what} are names of blobs, not a {type(wrong).__name__}")
    return names
