"""A model: a net with its weights from any source, what follows from them, and what is made of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netdsl.model.model import Model, open_net
    from netdsl.model.opening import open_model, open_weights

__all__ = ["Model", "open_model", "open_net", "open_weights"]

# Imported when they are used: only what computes waits for torch.
_MODULES = {"Model": "model", "open_net": "model", "open_model": "opening", "open_weights": "opening"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return the names that the package shows."""
        if name not in _MODULES:
            raise AttributeError(f"module 'netdsl.model' has no attribute '{name}'")
        return getattr(import_module(f"netdsl.model.{_MODULES[name]}"), name)
