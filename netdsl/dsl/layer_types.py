"""A constructor for each of netdsl's own layer types, under its name; the stub declares them for editors and mypy."""

from __future__ import annotations

from netdsl.dsl.constructors import Constructor
from netdsl.layers import LAYERS

globals().update({name: Constructor(name, kind) for name, kind in LAYERS.own().items()})

__all__ = [*LAYERS.own()]
