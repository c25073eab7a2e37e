"""Constructors of layers of any type. Keyword arguments set the fields of the type's settings message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from inspect import cleandoc
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, enum_of, fields_of
from caffe_proto.errors import few
from netdsl.errors import NetError

if TYPE_CHECKING:
    from netdsl.layer import Layer

_EXPECTED = {
    FieldDescriptor.CPPTYPE_INT32: "a whole number",
    FieldDescriptor.CPPTYPE_INT64: "a whole number",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number of 0 or more",
    FieldDescriptor.CPPTYPE_UINT64: "a whole number of 0 or more",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_BOOL: "True or False",
    FieldDescriptor.CPPTYPE_STRING: "text",
}
COMMON_FIELDS = fields_of(pb.LayerParameter)
_SET_BY = {"name": "the first argument", "type": "the function", "bottom": "bottoms=[...]", "top": "tops=[...]"}
STRUCTURE = frozenset(_SET_BY)
# Caffe's names for settings that have other names in the SparkNet paper.
CAFFE_NAMES = {"num_filters": "num_output", "num_outputs": "num_output", "kernel": "kernel_size"}
# Other frameworks' names for settings and for arguments of `Net.train`.
_FRAMEWORK_NAMES = {
    "lr": "base_lr",
    "learning_rate": "base_lr",
    "optimizer": "type",
    "wd": "weight_decay",
    "beta1": "momentum",
    "beta2": "momentum2",
    "eps": "delta",
    "seed": "random_seed",
    "lr_scheduler": "lr_policy",
    "milestones": "stepvalue",
    "max_epochs": "epochs",
    "num_epochs": "epochs",
    "batch_size": "batch",
    "iterations": "steps",
    "max_steps": "steps",
    "out_channels": "num_output",
    "out_features": "num_output",
    "filters": "num_output",
    "units": "num_output",
    "padding": "pad",
    "strides": "stride",
    "groups": "group",
    "bias": "bias_term",
}
ARGUMENTS = frozenset({"bottoms", "tops", "in_place", "layer"})  # the arguments of a call that aren't settings


@dataclass(frozen=True)
class LayerFacts:
    """The facts that a constructor needs about a layer type.

    Describing a net thus doesn't import the type's class and torch.
    """

    doc: str
    config: type[Message] | None = None  # the message of the type's own settings
    has_tops: bool = True

    @classmethod
    def of(cls, layer_class: type[Layer]) -> LayerFacts:
        """Return the facts about a class."""
        return cls(cleandoc(layer_class.__doc__ or ""), layer_class.config, layer_class.tops[1] != 0)


class Constructor:
    """Makes layers of one type: `Convolution("conv1", ["data"], num_output=20, kernel_size=5)`.

    `bottoms` are blob names. The top has the layer's name unless `tops` is given. With `in_place=True`, it has the
    bottom's name. Settings are fields of the type's own message, or common fields such as `loss_weight`, `param` and
    `include`. If both contain the same name, `layer={...}` sets the common field.
    """

    def __init__(self, type_name: str, layer_class: type[Layer] | LayerFacts | None = None) -> None:
        facts = LayerFacts.of(layer_class) if isinstance(layer_class, type) else layer_class or LayerFacts("")
        self.type = type_name
        self.config, self._has_tops = facts.config, facts.has_tops
        self.__name__ = type_name
        self.__doc__ = facts.doc

    @cached_property
    def field(self) -> str | None:
        """The field of a layer's message that contains the type's own settings, or `None`."""
        return settings_field(self.config) if self.config is not None else None

    @cached_property
    def type_settings(self) -> frozenset[str]:
        """The names of the type's own settings."""
        return _type_setting_names(self.config) if self.config is not None else frozenset()

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
        layer_message.bottom.extend(_blob_names(bottoms, f"{what}: bottoms"))
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
            raise NetError(f"{what}: tops and in_place can't be combined; remove in_place, or remove tops")
        if in_place and not layer_message.bottom:
            raise NetError(f"{what}: in_place needs a bottom; name the blob to change in `bottoms`")
        if in_place:
            return layer_message.bottom[:1]
        return self.default_tops(layer_message) if tops is None else _blob_names(tops, f"{what}: tops")

    def _check_names(self, settings: Mapping[str, Any], what: str) -> None:
        for name in settings:
            if name in self.type_settings:
                continue
            if name in STRUCTURE:
                raise NetError(f"{what}: '{name}' isn't a setting; set it with {_SET_BY[name]}")
            if name not in COMMON_FIELDS:
                raise _unknown_setting(name, [*self.type_settings, *COMMON_FIELDS], what, CAFFE_NAMES)

    def default_tops(self, layer: pb.LayerParameter) -> list[str]:
        """Return the tops of a layer whose call doesn't set them."""
        return [layer.name] if self._has_tops and layer.HasField("name") else []


def settings_field(config: type[Message]) -> str:
    """Return the field of LayerParameter that has a given type of settings message."""
    descriptor = descriptor_of(config)
    return next(name for name, field in COMMON_FIELDS.items() if field.message_type is descriptor)


def _type_setting_names(config: type[Message]) -> frozenset[str]:
    """Return the names of the type's own settings.

    If two fields have the same name, the one with the lower number counts, because BVLC's numbers are lower than
    forks'.
    """
    return frozenset(
        name
        for name, field in fields_of(config).items()
        if name not in ARGUMENTS
        and (name not in COMMON_FIELDS or name in STRUCTURE or field.number < COMMON_FIELDS[name].number)
    )


def _blob_names(value: Sequence[str] | str, what: str) -> Sequence[str]:
    names = [value] if isinstance(value, str) else value
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise NetError(f"{what} must be names of blobs, not a {type(wrong).__name__}; pass the names, as in ['conv1']")
    return names


def assign(message: Message, settings: Mapping[str, Any], what: str, arguments: Collection[str] = ()) -> None:
    """Set fields of a message by name. A dict sets a message, a list a repeated field, and a name an enum's value.

    `None` leaves a field unset. `arguments` are the call's other arguments, which an error can suggest for an unknown
    name.
    """
    fields = fields_of(message)
    for name, value in settings.items():
        if name not in fields:
            raise _unknown_setting(name, [*fields, *arguments], what)
        if value is not None:
            _assign_field(message, fields[name], value, f"{what}: {name}")


def _unknown_setting(
    name: object, names: Iterable[str], what: str, other_names: Mapping[str, str] = MappingProxyType({})
) -> NetError:
    """Return the error for a setting that doesn't exist.

    It suggests another framework's equivalent or the closest name. `other_names` maps further names of settings,
    besides those of other frameworks, to names in this one.
    """
    known = set(names)
    here = {other: name for other, name in {**_FRAMEWORK_NAMES, **other_names}.items() if name in known}
    meant = here.get(str(name))
    if meant is None:
        of_the_paper = {other: here[other] for other in other_names if other in here}
        spellings = {**dict(zip(known, known, strict=True)), **of_the_paper}
        near = get_close_matches(str(name), spellings, 1)
        meant = spellings[near[0]] if near else None
    advice = f"did you mean {meant}?" if meant else f"use one of {few(sorted(known), 10)}"
    return NetError(f"{what}: there is no setting '{name}'; {advice}")


def _assign_field(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    many = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if many and not field.is_repeated:
        raise NetError(f"{what} must be a single value, not {len(value)} values; give one value")
    for item in value if many else [value]:
        if field.message_type is not None:
            _assign_message(message, field, item, what)
        else:
            _assign_scalar(message, field, item, what)


def _assign_message(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    target = getattr(message, field.name)
    if field.is_repeated:
        target = target.add()
    target.SetInParent()
    if isinstance(value, Mapping):
        assign(target, value, what)
    elif isinstance(value, Message) and value.DESCRIPTOR is target.DESCRIPTOR:
        target.CopyFrom(value)
    else:
        raise NetError(f"{what} must be a dict of settings, not {value!r}; pass a dict, as in {{'type': 'xavier'}}")


def _assign_scalar(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    try:
        field_value = _enum_value(field, value) if field.enum_type is not None else value
        if field.is_repeated:
            getattr(message, field.name).append(field_value)
        else:
            setattr(message, field.name, field_value)
    except (TypeError, ValueError):
        raise NetError(f"{what} must be {_expected_value(field)}, not {value!r}{_suggestion(field, value)}") from None


def _enum_value(field: FieldDescriptor, value: Any) -> Any:
    values_by_name = enum_of(field).values_by_name
    if isinstance(value, str) and value not in values_by_name:
        raise ValueError(value)
    return values_by_name[value].number if isinstance(value, str) else value


def _expected_value(field: FieldDescriptor) -> str:
    return " or ".join(enum_of(field).values_by_name) if field.enum_type is not None else _EXPECTED[field.cpp_type]


def _suggestion(field: FieldDescriptor, value: Any) -> str:
    if field.enum_type is None or not isinstance(value, str):
        return "; correct it"
    near = get_close_matches(value.upper(), enum_of(field).values_by_name, 1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else "; correct it"
