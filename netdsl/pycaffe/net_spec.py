"""Nets as Python expressions: `L.Convolution(n.data, num_output=20)` is a blob that other layers can read."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import fields_of
from caffe_proto.errors import name_advice
from netdsl.dsl.constructors import settings_field
from netdsl.errors import NetError
from netdsl.layers import LAYERS


class TopError(NetError, TypeError):
    """An input of a layer isn't a blob. As in pycaffe, the error is also a TypeError."""


class Top:
    """A blob: a top of a layer."""

    def __init__(self, fn: Function, n: int) -> None:
        self.fn, self.n = fn, n

    def to_proto(self) -> pb.NetParameter:
        """Return the net with all layers on which this blob depends."""
        return to_proto(self)


class Function:
    """A layer: its type, the blobs that it reads, and its settings.

    Two settings don't exist in Caffe: `ntop`, the number of tops, and `in_place`.
    """

    def __init__(self, type_name: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        for index, bottom in enumerate(inputs):
            if not isinstance(bottom, Top):
                raise TopError(
                    f"{type_name} input {index} is not a Top (type is {type(bottom)}); pass a top of NetSpec"
                )
        self.type_name, self.inputs = type_name, inputs
        self.ntop: int = params.pop("ntop", 1)
        self.in_place: bool = params.pop("in_place", False)
        self.params = params
        self.tops = tuple(Top(self, n) for n in range(self.ntop))


TopNames = dict[Top | Function, str]


class NetSpec:
    """A net whose blobs are its attributes: `n.conv1 = L.Convolution(n.data, ...)` names both the blob and the
    layer."""

    tops: OrderedDict[str, Any]

    def __init__(self) -> None:
        super().__setattr__("tops", OrderedDict())

    def __setattr__(self, name: str, value: Any) -> None:
        self.tops[name] = value

    def __getattr__(self, name: str) -> Any:
        if name == "tops" or name not in self.tops:  # while a copy is made, tops itself is missing
            raise AttributeError(f"this net has no blob '{name}' yet")
        return self.tops[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.tops[name] = value

    def __getitem__(self, name: str) -> Any:
        return self.tops[name]

    def to_proto(self) -> pb.NetParameter:
        """Return the net with all layers on which these blobs depend."""
        for name, value in self.tops.items():
            if not isinstance(value, (Top, Function)):
                raise NetError(f"'{name}' isn't a blob but a {type(value).__name__}; unpack a layer with several tops")
        return _net_of(self.tops.values(), {top: name for name, top in self.tops.items()})


def to_proto(*tops: Top | Function) -> pb.NetParameter:
    """Return the net with all layers on which some blobs depend. Names are generated from the layers' types."""
    return _net_of(tops, {})


def _net_of(tops: Iterable[Top | Function], names: TopNames) -> pb.NetParameter:
    counts: Counter[str] = Counter()
    layers_by_function: dict[Function, pb.LayerParameter] = {}
    for top in tops:
        for function in _in_order(top.fn if isinstance(top, Top) else top, layers_by_function):
            layers_by_function[function] = _layer_of(function, layers_by_function, names, counts)
    return pb.NetParameter(layer=layers_by_function.values())


def _in_order(last: Function, finished: Mapping[Function, object]) -> Iterator[Function]:
    """Yield a layer and the layers on which it depends, bottoms first, without finished ones."""
    seen: set[Function] = set()
    stack = [(last, False)]
    while stack:
        function, complete = stack.pop()
        if complete:
            yield function
        elif function not in seen and function not in finished:
            seen.add(function)
            stack.append((function, True))
            stack.extend((top.fn, False) for top in reversed(function.inputs))


def _layer_of(
    function: Function, layers_by_function: Mapping[Function, pb.LayerParameter], names: TopNames, counts: Counter[str]
) -> pb.LayerParameter:
    layer = pb.LayerParameter(type=function.type_name)
    layer.bottom.extend(layers_by_function[top.fn].top[top.n] for top in function.inputs)
    if function.in_place:
        layer.top.extend(layer.bottom)
    else:
        layer.top.extend(_name_of(top, function, names, counts) for top in function.tops)
    first = function.tops[0] if function.tops else function
    layer.name = names[function] if function in names else _name_of(first, function, names, counts)
    for name, value in function.params.items():
        assign_proto(_holder(layer, name), name, value)
    return layer


def _name_of(top: Top | Function, function: Function, names: TopNames, counts: Counter[str]) -> str:
    """Return the assigned name, or else the layer's type with a number."""
    if top not in names:
        counts[function.type_name] += 1
        names[top] = f"{function.type_name}{counts[function.type_name]}"
    return names[top]


def param_name_dict() -> dict[str, str]:
    """Return the prefix of `_param` in the settings field of each layer type, by the name of its message."""
    names: dict[str, str] = {}
    for name, field in sorted(fields_of(pb.LayerParameter).items(), key=lambda pair: pair[1].number):
        if name.endswith("_param") and field.message_type is not None:
            names.setdefault(field.message_type.name.removesuffix("Parameter"), name.removesuffix("_param"))
    return names


_PARAM_NAMES = param_name_dict()


def _holder(layer: pb.LayerParameter, setting: str) -> Message:
    """Return the message that contains a setting: the layer, or the settings of its type."""
    if setting.endswith("param"):
        return layer
    layer_class = LAYERS.get(layer.type)
    if layer.type in _PARAM_NAMES:
        field = f"{_PARAM_NAMES[layer.type]}_param"
    elif layer_class is not None and layer_class.config is not None:
        field = settings_field(layer_class.config)
    else:
        return layer
    if setting in fields_of(layer) and setting not in fields_of(getattr(layer, field)):
        return layer
    settings: Message = getattr(layer, field)
    return settings


def assign_proto(proto: Message, name: str, val: Any) -> None:
    """Set a field. A dict stands for a message, and a list or a single value for a repeated field."""
    fields = fields_of(proto)
    if name not in fields:
        raise NetError(f"{proto.DESCRIPTOR.name} has no setting '{name}'; {name_advice(name, fields)}")
    if fields[name].is_repeated:
        _extend(getattr(proto, name), list(val) if isinstance(val, (list, tuple)) else [val])
    elif isinstance(val, Mapping):
        for key, value in val.items():
            assign_proto(getattr(proto, name), key, value)
    else:
        setattr(proto, name, val)


def _extend(repeated: Any, values: list[Any]) -> None:
    for value in values:
        if isinstance(value, Mapping):
            item = repeated.add()
            for key, field_value in value.items():
                assign_proto(item, key, field_value)
        else:
            repeated.append(value)


class Layers:
    """A namespace with a function for each layer type: `Layers().Convolution(...)`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(f"'{name}' isn't a layer type")

        def make(*inputs: Top, **params: Any) -> Any:
            function = Function(name, inputs, params)
            return function if function.ntop == 0 else function.tops[0] if function.ntop == 1 else function.tops

        return make

    def __dir__(self) -> list[str]:
        return list(LAYERS)


class Parameters:
    """A namespace with the settings message of each layer type, for its constants: `Parameters().Pooling.MAX`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(pb, f"{name}Parameter")


layers = Layers()
params = Parameters()
