"""Constructors of layers of any type, whose keyword arguments are the fields of the type's settings message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, fields_of
from netdsl.dsl.assign import assign, unknown_setting
from netdsl.errors import NetError

if TYPE_CHECKING:
    from netdsl.layer import Layer

COMMON_FIELDS = fields_of(pb.LayerParameter)
_SET_BY = {"name": "the first argument", "type": "the function", "bottom": "bottoms=[...]", "top": "tops=[...]"}
STRUCTURE = frozenset(_SET_BY)
# What Caffe calls the settings that have names of their own in the SparkNet paper.
CAFFE_NAMES = {"num_filters": "num_output", "num_outputs": "num_output", "kernel": "kernel_size"}
ARGUMENTS = frozenset({"bottoms", "tops", "in_place", "layer"})  # the other arguments of a call, beside settings


@dataclass(frozen=True)
class LayerFacts:
    """What a constructor has to know of a layer type: a net can be described without its class, which needs torch."""

    doc: str
    config: type[Message] | None = None  # the type's own settings
    has_tops: bool = True

    @classmethod
    def of(cls, layer_class: type[Layer]) -> LayerFacts:
        """The facts that a class says."""
        return cls(cleandoc(layer_class.__doc__ or ""), layer_class.config, layer_class.tops[1] != 0)


class Constructor:
    """Makes layers of one type: `Convolution("conv1", ["data"], num_output=20, kernel_size=5)`.

    `bottoms` are blob names. The top is called as the layer unless `tops` says otherwise; `in_place=True` gives the
    top the name of the bottom. Settings are fields of the type's own message, or of every layer (`loss_weight`,
    `param`, `include`, ...); where both have one of that name, `layer={...}` sets the layer's.
    """

    def __init__(self, type_name: str, layer_class: type[Layer] | LayerFacts | None = None) -> None:
        facts = LayerFacts.of(layer_class) if isinstance(layer_class, type) else layer_class or LayerFacts("")
        self.type = type_name
        self.config, self._has_tops = facts.config, facts.has_tops
        self.__name__ = type_name
        self.__doc__ = facts.doc

    @cached_property
    def field(self) -> str | None:
        """The field of a layer's message that has the type's own settings, if it has some."""
        return settings_field(self.config) if self.config is not None else None

    @cached_property
    def type_settings(self) -> frozenset[str]:
        """The names of the type's own settings."""
        return type_setting_names(self.config) if self.config is not None else frozenset()

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
        """Make a layer."""
        what = f"layer '{name or ''}' of type {self.type}"
        layer_message = pb.LayerParameter(name=name, type=self.type)
        layer_message.bottom.extend(_names(bottoms, f"{what}: bottoms"))
        layer_message.top.extend(self._tops(layer_message, tops, in_place, what))
        self._check_names(settings, what)
        assign(layer_message, dict(layer or {}), what)
        assign(layer_message, {key: value for key, value in settings.items() if key not in self.type_settings}, what)
        values = {key: value for key, value in settings.items() if key in self.type_settings}
        if values:
            assert self.field is not None
            assign(getattr(layer_message, self.field), values, what)
        return layer_message

    def _tops(
        self, layer_message: pb.LayerParameter, tops: Sequence[str] | str | None, in_place: bool, what: str
    ) -> Sequence[str]:
        if in_place and tops is not None:
            raise NetError(f"{what}: give tops or in_place, not both")
        if in_place and not layer_message.bottom:
            raise NetError(f"{what}: in_place needs a bottom")
        if in_place:
            return layer_message.bottom[:1]
        return self.default_tops(layer_message) if tops is None else _names(tops, f"{what}: tops")

    def _check_names(self, settings: Mapping[str, Any], what: str) -> None:
        for name in settings:
            if name in self.type_settings:
                continue
            if name in STRUCTURE:
                raise NetError(f"{what}: '{name}' is no setting; it is set by {_SET_BY[name]}")
            if name not in COMMON_FIELDS:
                raise unknown_setting(name, [*self.type_settings, *COMMON_FIELDS], what, CAFFE_NAMES)

    def default_tops(self, layer: pb.LayerParameter) -> list[str]:
        """The tops of a layer whose call doesn't set them."""
        return [layer.name] if self._has_tops and layer.HasField("name") else []


def settings_field(config: type[Message]) -> str:
    """The field of LayerParameter for settings of a message type."""
    descriptor = descriptor_of(config)
    return next(name for name, field in COMMON_FIELDS.items() if field.message_type is descriptor)


def type_setting_names(config: type[Message]) -> frozenset[str]:
    """The names of the type's own settings. Of two fields with one name, BVLC's has a lower number than a fork's."""
    return frozenset(
        name
        for name, field in fields_of(config).items()
        if name not in ARGUMENTS
        and (name not in COMMON_FIELDS or name in STRUCTURE or field.number < COMMON_FIELDS[name].number)
    )


def _names(value: Sequence[str] | str, what: str) -> Sequence[str]:
    names = [value] if isinstance(value, str) else value
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise NetError(f"{what} are names of blobs, not a {type(wrong).__name__}")
    return names
