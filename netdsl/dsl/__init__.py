"""The layer DSL: nets in Python, with the SparkNet paper's layer functions and a function for each layer type."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from netdsl.dsl.constructors import Constructor
from netdsl.dsl.layer_types import *  # noqa: F403 - the stub lists the names
from netdsl.dsl.params import (
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

__all__ = [
    "ActivationLayer",
    "Average",
    "Constructor",
    "ConvLayer",
    "LinearLayer",
    "Max",
    "NetParams",
    "PoolLayer",
    "RDDLayer",
    "Stochastic",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from netdsl.layers import LAYERS  # imports torch, which isn't needed to describe a net

        if not name.startswith("_") and name in LAYERS:  # registered by a program or a plug-in
            return Constructor(name, LAYERS[name])
        names = {name.lower(): name for name in (*__all__, *LAYERS)}
        near = get_close_matches(name.lower(), names, 1)
        advice = f"did you mean {names[near[0]]}?" if near else "docs/layer_types.md lists the types"
        raise AttributeError(f"there is no layer type '{name}'; {advice}")
