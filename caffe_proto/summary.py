"""Summarizes a file as a table of its layers, blobs or settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blobs, shape_of
from caffe_proto.copies import copy_of
from caffe_proto.files import CaffeFile
from caffe_proto.limits import Limit
from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.prototxt import unbind

AnyLayer = pb.LayerParameter | pb.V1LayerParameter

_RULES = {"include", "exclude", "phase"}
_SHOWN_ELSEWHERE = {"name", "type", "bottom", "top", "phase"}


@dataclass(frozen=True)
class LayerLine:
    """The summary of one layer: type, bottoms, tops, settings and size."""

    name: str
    type: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    when: str  # the rules of include, exclude and phase
    settings: str
    blobs: tuple[tuple[int, ...], ...]
    parameters: int


@dataclass(frozen=True)
class BlobLine:
    """The summary of one blob: its shape and the range of its values."""

    name: str
    shape: tuple[int, ...]
    type: str
    minimum: float | None
    maximum: float | None
    mean: float | None


@dataclass(frozen=True)
class Summary:
    """The summary of a file: a net's layers, the blobs of a file without layers, and other settings."""

    kind: str
    name: str
    form: str
    dialect: str | None
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()
    layers: tuple[LayerLine, ...] = ()
    blobs: tuple[BlobLine, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    parameters: int = field(default=0)


def summarize(file: CaffeFile[Message]) -> Summary:
    """Summarize a file of any kind."""
    message, blobs = file.message, file.blobs
    kind, dialect = message.DESCRIPTOR.name, file.dialect.name if file.dialect else None
    if isinstance(message, pb.NetParameter):
        Limit.SUMMARY_LINES.check(len(message.layers) + len(message.layer), "a table of the layers")
        all_layers: list[AnyLayer] = [*message.layers, *message.layer]
        layers = tuple(_layer_line(layer) for layer in all_layers)
        total = sum(line.parameters for line in layers)
        settings = _settings_of(message, {"name", "layer", "layers", "input", "input_dim", "input_shape"})
        return Summary(
            kind, message.name, file.form.value, dialect, _inputs(message), layers, (), settings, parameters=total
        )
    lines = tuple(_blob_line(name, proto, blobs) for name, proto in _blobs_of(message))
    settings = _settings_of(message, {"history", "blobs", "data"}) if not isinstance(message, pb.BlobProto) else ()
    return Summary(kind, "", file.form.value, dialect, blobs=lines, settings=settings)


def _layer_line(layer: AnyLayer) -> LayerLine:
    named_layer = layer.layer if isinstance(layer, pb.V1LayerParameter) and layer.HasField("layer") else layer
    kind = (
        named_layer.type if isinstance(named_layer.type, str) else pb.V1LayerParameter.LayerType.Name(named_layer.type)
    )
    body = unbind(_without_blobs(layer))
    entries = [
        *body.entries,
        *(entry for old in body.named("layer") for old_body in old.bodies() for entry in old_body.entries),
    ]
    rules = [entry for entry in body.entries if entry.name in _RULES]
    shapes = tuple(shape_of(blob) for blob in [*layer.blobs, *(named_layer.blobs if named_layer is not layer else ())])
    return LayerLine(
        name=named_layer.name,
        type=kind,
        bottoms=tuple(layer.bottom),
        tops=tuple(layer.top),
        when=", ".join(_one_line(rule) for rule in rules),
        settings=" ".join(filter(None, (_plain_settings(entry) for entry in entries))),
        blobs=shapes,
        parameters=sum(map(math.prod, shapes)),
    )


def _without_blobs(layer: AnyLayer) -> AnyLayer:
    bare = copy_of(layer, without=["blobs"])
    if isinstance(bare, pb.V1LayerParameter) and bare.HasField("layer"):
        bare.layer.ClearField("blobs")
    return bare


def _plain_settings(entry: Entry) -> str:
    """Return the plain values of a layer and of its type's settings, without fillers and learning rates."""
    if entry.name in _SHOWN_ELSEWHERE:
        return ""
    type_settings = [setting for body in entry.bodies() if entry.name.endswith("_param") for setting in body.entries]
    plain = [setting for setting in [entry, *type_settings] if not any(setting.bodies())]
    return " ".join(_one_line(setting) for setting in plain)


def _one_line(entry: Entry) -> str:
    """Return the text of a field on one line."""
    fields = (
        f"{entry.name}: {value.text}" if isinstance(value, Scalar) else f"{entry.name} {{{_value_text(value)}}}"
        for value in entry.values
    )
    return " ".join(fields)


def _inputs(net: pb.NetParameter) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the inputs of a net, with their shapes if the file has them."""
    shapes = [tuple(shape.dim) for shape in net.input_shape]
    dims = list(net.input_dim)
    shapes = shapes or [tuple(dims[start : start + 4]) for start in range(0, len(dims), 4)]
    inputs = [(name, shapes[index] if index < len(shapes) else ()) for index, name in enumerate(net.input)]
    for layer in net.layer:
        declared = [tuple(shape.dim) for shape in layer.input_param.shape]
        if declared:
            repeated = declared if len(declared) == len(layer.top) else declared[:1] * len(layer.top)
            inputs += list(zip(layer.top, repeated, strict=True))
    return tuple(inputs)


def _settings_of(message: Message, left_out: set[str]) -> tuple[tuple[str, str], ...]:
    body: Body = unbind(message)
    return tuple(
        (entry.name, _value_text(value))
        for entry in body.entries
        if entry.name not in left_out
        for value in entry.values
    )


def _value_text(value: Scalar | Body) -> str:
    return value.text if isinstance(value, Scalar) else " ".join(_one_line(entry) for entry in value.entries)


def _blobs_of(message: Message) -> list[tuple[str, pb.BlobProto]]:
    if isinstance(message, pb.BlobProto):
        return [("", message)]
    named = getattr(message, "history", None) or getattr(message, "blobs", None) or []
    Limit.SUMMARY_LINES.check(len(named), "a table of the blobs")
    return [(str(index), proto) for index, proto in enumerate(named)]


def _blob_line(name: str, proto: pb.BlobProto, blobs: Blobs) -> BlobLine:
    values = blobs.array(proto)
    if not values.size:
        return BlobLine(name, shape_of(proto), str(values.dtype), None, None, None)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high, mean = float(values.min()), float(values.max()), float(values.mean(dtype=np.float64))
    return BlobLine(name, shape_of(proto), str(values.dtype), low, high, mean)
