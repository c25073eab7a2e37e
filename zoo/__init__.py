"""The zoo: a catalogue of named nets, and the command line."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoo.catalogue import card_of, entry_of
    from zoo.names import solver_of

_MODULES = {"card_of": "catalogue", "entry_of": "catalogue", "solver_of": "names"}

__all__ = ["card_of", "entry_of", "solver_of"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public name on first use."""
        if name not in _MODULES:
            raise AttributeError(f"module 'zoo' has no attribute '{name}'")
        return getattr(import_module(f"zoo.{_MODULES[name]}"), name)
