"""Nets in other forms: to deploy, and to and from other formats. Once it is imported, nets are opened from ONNX too."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.formats import register_format

if TYPE_CHECKING:
    from converters.caffe import export_caffe
    from netdsl.deploy.deploy_net import deploy, deploy_model
    from netdsl.model import open_model, open_weights
    from netdsl.open_net import Model
    from netdsl.weights.writing import write_weights

# Imported when they are used: whoever only wants ONNX to be known needn't wait for numpy and torch.
_MODULES = {
    "Model": "netdsl.open_net",
    "deploy": "netdsl.deploy.deploy_net",
    "deploy_model": "netdsl.deploy.deploy_net",
    "export_caffe": "converters.caffe",
    "open_model": "netdsl.model",
    "open_weights": "netdsl.model",
    "write_weights": "netdsl.weights.writing",
}

__all__ = ["Model", "deploy", "deploy_model", "export_caffe", "open_model", "open_weights", "write_weights"]


def _open_onnx(path: Path) -> Model:
    from converters.from_onnx import from_onnx  # needs torch, and onnx

    return from_onnx(path)


register_format(".onnx", _open_onnx)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Public names."""
        if name not in _MODULES:
            raise AttributeError(f"module 'converters' has no attribute '{name}'")
        return getattr(import_module(_MODULES[name]), name)
