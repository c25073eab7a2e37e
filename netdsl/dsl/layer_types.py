"""A constructor for every layer type, by the type's name. What editors and mypy know of them is in the stub."""

from __future__ import annotations

from netdsl.dsl.constructors import Constructor
from netdsl.layers import LAYERS

globals().update({name: Constructor(name, kind) for name, kind in LAYERS.items()})

__all__ = [*LAYERS]
