"""Imports ONNX models as Caffe nets with weights, and verifies them by running both."""

from __future__ import annotations

from converters.onnx_import.model import from_onnx

__all__ = ["from_onnx"]
