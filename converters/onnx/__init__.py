"""Nets as ONNX models, by our own builder: every layer tells itself what it is in ONNX's operators."""

from __future__ import annotations

from converters.onnx.export import export_onnx, to_onnx
from converters.onnx.library import newest_opset
from converters.onnx.metadata import Metadata
from converters.onnx.saving import save_onnx
from converters.onnx.verification import Report, verify

__all__ = ["Metadata", "Report", "export_onnx", "newest_opset", "save_onnx", "to_onnx", "verify"]
