"""Exports nets as ONNX models. Every layer type defines its own ONNX operators."""

from __future__ import annotations

from converters.onnx.export import Metadata, export_onnx, to_onnx
from converters.onnx.files import save_onnx
from converters.onnx.library import newest_opset
from converters.onnx.verification import Report, verify

__all__ = ["Metadata", "Report", "export_onnx", "newest_opset", "save_onnx", "to_onnx", "verify"]
