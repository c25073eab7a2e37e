"""Nets: described in Python or imported from Caffe, compiled into torch modules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netdsl.dsl import (
        ActivationLayer,
        Average,
        ConvLayer,
        LinearLayer,
        Max,
        NetParams,
        PoolLayer,
        RDDLayer,
        Stochastic,
    )
    from netdsl.graph import Phase
    from netdsl.net import Net
    from netdsl.weights import LoadReport, WeightCollection

# Imported when they are used: whoever only wants the command line's help needn't wait for torch.
_HOMES = {"Net": "net", "Phase": "graph", "LoadReport": "weights", "WeightCollection": "weights"}

__all__ = [
    "ActivationLayer",
    "Average",
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
]


def __getattr__(name: str) -> Any:
    """Public names, and every layer type as its constructor in the DSL."""
    if name.startswith("_"):
        raise AttributeError(f"module 'netdsl' has no attribute '{name}'")
    return getattr(import_module(f"netdsl.{_HOMES.get(name, 'dsl')}"), name)
