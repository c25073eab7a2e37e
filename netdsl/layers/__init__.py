"""The layer types, one per file. `LAYERS` maps Caffe's names to classes, including those added with
`register_layer`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.layer import BringsData, Layer
from netdsl.layer.user_code import ReplacesUserCode, python_name
from netdsl.layers._other_names import type_for
from netdsl.layers.split import insert_splits
from netdsl.registry import Registry

__all__ = ["LAYERS", "data_layer_of", "insert_splits", "meaning_of", "type_of"]

LAYERS = Registry[type[Layer]]("layer type")


def _register_all() -> None:
    """Register the layer classes of this package's modules. Files that begin with `_` contain only shared code."""
    for module in iter_modules(__path__, f"{__name__}."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, type) and issubclass(value, Layer) and value.__module__ == module.name:
                LAYERS.register(name, value)


_register_all()


def type_of(layer: pb.LayerParameter) -> type[Layer] | None:
    """Return the class for a layer: the replacement for the user code that it names, or else the class of its type."""
    name = python_name(layer)
    if name is not None:
        for kind in LAYERS.values():
            if issubclass(kind, ReplacesUserCode) and name in kind.python_names:
                return kind
    return LAYERS.get(layer.type)


def meaning_of(unknown: str) -> str | None:
    """Return the known type that an unknown one probably means, with the settings that make them the same.

    Returns `None` if no type is similar.
    """
    other = type_for(unknown)
    if other is None:
        return LAYERS.near(unknown)
    return f"{other[0]} with {other[1]}" if other[1] else other[0]


def data_layer_of(message: pb.LayerParameter) -> BringsData | None:
    """Return the layer for a message, built on a copy of it, or `None` if its tops don't come from outside the net."""
    kind = type_of(message)
    return kind(copy_of(message), []) if kind is not None and issubclass(kind, BringsData) else None
