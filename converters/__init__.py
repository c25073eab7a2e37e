"""Nets in other forms: to deploy, and to and from other formats."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converters.caffe import export_caffe
    from netdsl.model.deploy.deploy_net import deploy, deploy_model
    from netdsl.model.model import Model
    from netdsl.model.opening import open_model, open_weights
    from netdsl.model.weights.writing import write_weights

# Imported when they are used: a module of this package may be imported for something that needs no torch.
_MODULES = {
    "Model": "netdsl.model.model",
    "deploy": "netdsl.model.deploy.deploy_net",
    "deploy_model": "netdsl.model.deploy.deploy_net",
    "export_caffe": "converters.caffe",
    "open_model": "netdsl.model.opening",
    "open_weights": "netdsl.model.opening",
    "write_weights": "netdsl.model.weights.writing",
}

__all__ = ["Model", "deploy", "deploy_model", "export_caffe", "open_model", "open_weights", "write_weights"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Public names."""
        if name not in _MODULES:
            raise AttributeError(f"module 'converters' has no attribute '{name}'")
        return getattr(import_module(_MODULES[name]), name)
