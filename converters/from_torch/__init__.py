"""torch modules as Caffe nets with weights, run beside each other."""

from __future__ import annotations

from converters.from_torch.module import from_torch

__all__ = ["from_torch"]
