"""Converts nets to other forms: nets to deploy, and models of other formats in both directions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converters.caffe import export_caffe, write_net
    from converters.onnx import export_onnx
    from converters.onnx_import import from_onnx
    from converters.torch_import import from_torch

# Modules are imported on first use because some users of this package don't need torch.
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
        """Return a public name."""
        if name not in _MODULES:
            raise AttributeError(f"module 'converters' has no attribute '{name}'")
        return getattr(import_module(f"converters.{_MODULES[name]}"), name)
