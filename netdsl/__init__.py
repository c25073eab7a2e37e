"""Nets: described in Python or imported from Caffe, compiled into torch modules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from caffe_proto import extensions

if TYPE_CHECKING:
    from netdsl.data.reader import open_reader
    from netdsl.dsl import (
        ActivationLayer,
        Average,
        Constructor,
        ConvLayer,
        LinearLayer,
        Max,
        NetParams,
        PoolLayer,
        RDDLayer,
        Stochastic,
    )
    from netdsl.dsl.layer_types import *  # noqa: F403
    from netdsl.model.collection import WeightCollection
    from netdsl.model.weights.match import LoadReport
    from netdsl.net.graph import Phase
    from netdsl.training.net import Net


def _find_plugins() -> None:
    """Import plug-ins, since one may know dialects."""
    from netdsl.plugins import load_plugins

    load_plugins()


extensions.finders.append(_find_plugins)

# Imported when they are used: whoever only wants the command line's help needn't wait for torch.
_MODULES = {
    "LoadReport": "model.weights.match",
    "Net": "training.net",
    "Phase": "net.graph",
    "WeightCollection": "model.collection",
    "open_reader": "data.reader",
}

__all__ = [
    "ActivationLayer",
    "Average",
    "Constructor",
    "ConvLayer",
    "LinearLayer",
    "LoadReport",
    "Max",
    "Net",
    "NetParams",
    "Phase",
    "PoolLayer",
    "RDDLayer",
    "Stochastic",
    "WeightCollection",
    "open_reader",
]

if TYPE_CHECKING:
    from netdsl.dsl import layer_types

    __all__ += layer_types.__all__
else:
    _NAMES = __all__
    del (
        __all__
    )  # with it `from netdsl import *` would have no layer types; without it, it asks __getattr__ for the names

    def __getattr__(name: str) -> object:
        """Public names, and every layer type as its constructor in the DSL."""
        if name == "__all__":
            return [*_NAMES, *import_module("netdsl.layers").LAYERS]
        if name.startswith("_"):
            raise AttributeError(f"module 'netdsl' has no attribute '{name}'")
        return getattr(import_module(f"netdsl.{_MODULES.get(name, 'dsl')}"), name)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
