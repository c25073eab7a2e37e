"""Nets in other forms: to deploy, and to and from other formats."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converters.caffe import export_caffe, write_net
    from converters.onnx import export_onnx
    from converters.onnx_import import from_onnx
    from converters.torch_import import from_torch

# Imported when they are used: a module of this package may be imported for something that needs no torch.
_MODULES = {
    "export_caffe": "caffe",
    "export_onnx": "onnx",
    "from_onnx": "onnx_import",
    "from_torch": "torch_import",
    "write_net": "caffe",
}

__all__ = ["export_caffe", "export_onnx", "from_onnx", "from_torch", "write_net"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Public names."""
        if name not in _MODULES:
            raise AttributeError(f"module 'converters' has no attribute '{name}'")
        return getattr(import_module(f"converters.{_MODULES[name]}"), name)
