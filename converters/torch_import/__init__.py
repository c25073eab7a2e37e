"""Import of torch modules as Caffe nets with weights, verified by running both."""

from __future__ import annotations

from converters.torch_import.module import from_torch

__all__ = ["from_torch"]
