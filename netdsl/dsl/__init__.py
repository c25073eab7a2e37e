"""Nets in Python: the paper's layers by their friendly names, and every layer type by its own."""

from __future__ import annotations

from netdsl.dsl.constructors import Constructor
from netdsl.dsl.friendly import (
    ActivationLayer,
    Average,
    ConvLayer,
    LinearLayer,
    Max,
    PoolLayer,
    RDDLayer,
    Stochastic,
)
from netdsl.dsl.params import NetParams
from netdsl.layers import LAYERS

__all__ = [
    "ActivationLayer",
    "Average",
    "ConvLayer",
    "LinearLayer",
    "Max",
    "NetParams",
    "PoolLayer",
    "RDDLayer",
    "Stochastic",
]


def __getattr__(name: str) -> Constructor:
    if name in LAYERS:
        return Constructor(name, LAYERS[name])
    raise AttributeError(f"there is no layer type '{name}'")


def __dir__() -> list[str]:
    return [*__all__, *LAYERS]
