"""Imports torch modules as Caffe nets with weights, and verifies them by running both."""

from __future__ import annotations

from converters.torch_import.module import from_torch

__all__ = ["from_torch"]
