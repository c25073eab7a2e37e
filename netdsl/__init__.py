"""Nets: described in Python or imported from Caffe, compiled into torch modules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from caffe_proto import extensions

if TYPE_CHECKING:
    from netdsl.data.reader import open_reader
    from netdsl.data.tables.table import Table
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
    from netdsl.solver.events import Action
    from netdsl.training.callbacks import EarlyStopping, Progress
    from netdsl.training.net import Net
    from zoo.finetuning.fine_tune import finetune


def _find_plugins() -> None:
    """Import plug-ins, since one may know dialects."""
    from netdsl.plugins import load_plugins

    load_plugins()


extensions.finders.append(_find_plugins)

# Imported when they are used: to print the command line's help shouldn't take the seconds that torch takes.
_MODULES = {
    "Action": "netdsl.solver.events",
    "EarlyStopping": "netdsl.training.callbacks",
    "LoadReport": "netdsl.model.weights.match",
    "Net": "netdsl.training.net",
    "Phase": "netdsl.net.graph",
    "Progress": "netdsl.training.callbacks",
    "Table": "netdsl.data.tables.table",
    "WeightCollection": "netdsl.model.collection",
    "finetune": "zoo.finetuning.fine_tune",  # which knows the models that have names
    "open_reader": "netdsl.data.reader",
}

__all__ = [
    "Action",
    "ActivationLayer",
    "Average",
    "Constructor",
    "ConvLayer",
    "EarlyStopping",
    "LinearLayer",
    "LoadReport",
    "Max",
    "Net",
    "NetParams",
    "Phase",
    "PoolLayer",
    "Progress",
    "RDDLayer",
    "Stochastic",
    "Table",
    "WeightCollection",
    "finetune",
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
        return getattr(import_module(_MODULES.get(name, "netdsl.dsl")), name)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
