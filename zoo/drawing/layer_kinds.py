"""Kinds of layers, which a picture tells by colours. A kind follows from what a layer type says of itself."""

from __future__ import annotations

from enum import Enum

from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.data import MakesData
from netdsl.layer.user_code import RunsUserCode
from netdsl.net.graph import Node

_WINDOW = "kernel_size"  # the setting of every type that looks at one window of its bottom after the other


class LayerKind(Enum):
    """A kind of layer, in the words of a legend."""

    DATA = "brings data"
    LEARNS_WINDOW = "learns, by windows"
    LEARNS = "learns"
    WINDOW = "windows"
    EACH_VALUE = "value by value"
    JOINS = "joins blobs"
    LOSS = "loss"
    MEASURE = "measures, serves losses"
    USER_CODE = "code of its own"
    OTHER = "other"
    UNKNOWN = "unknown type"


def kind_of(node: Node, kind: type[Layer] | None) -> LayerKind:
    """The kind of a layer of this type; None is a type that nobody knows."""
    if kind is None:
        return LayerKind.UNKNOWN
    for base, layer_kind in _BASES:
        if issubclass(kind, base):
            return layer_kind
    has_window = kind.config is not None and _WINDOW in kind.config.DESCRIPTOR.fields_by_name
    if kind.blobs:
        return LayerKind.LEARNS_WINDOW if has_window else LayerKind.LEARNS
    if has_window:
        return LayerKind.WINDOW
    if len(node.bottoms) > 1:
        return LayerKind.JOINS
    return LayerKind.EACH_VALUE if usually_in_place(kind) else LayerKind.OTHER


def usually_in_place(kind: type[Layer]) -> bool:
    """Whether layers of a type change each value where it is, and nobody asks in Caffe whether they may."""
    return kind.in_place and not kind.in_place_in_caffe


_BASES: tuple[tuple[type[Layer], LayerKind], ...] = (
    (BringsData, LayerKind.DATA),
    (MakesData, LayerKind.DATA),
    (Loss, LayerKind.LOSS),
    (NotDeployed, LayerKind.MEASURE),
    (RunsUserCode, LayerKind.USER_CODE),
)
