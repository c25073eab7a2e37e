"""A model: a net with its weights from any source, and everything that is derived from them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netdsl.model.model import Model, open_net
    from netdsl.model.opening import open_model, open_weights

__all__ = ["Model", "open_model", "open_net", "open_weights"]

# Modules are imported on first use, so that only code that computes waits for torch.
_MODULES = {"Model": "model", "open_net": "model", "open_model": "opening", "open_weights": "opening"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name."""
        if name not in _MODULES:
            raise AttributeError(f"module 'netdsl.model' has no attribute '{name}'")
        return getattr(import_module(f"netdsl.model.{_MODULES[name]}"), name)
