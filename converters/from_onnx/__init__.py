"""Import of ONNX models as Caffe nets with weights, verified by running both."""

from __future__ import annotations

from converters.from_onnx.model import from_onnx

__all__ = ["from_onnx"]
