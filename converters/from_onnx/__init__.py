"""ONNX models as Caffe nets with weights, run beside each other."""

from __future__ import annotations

from converters.from_onnx.model import from_onnx

__all__ = ["from_onnx"]
