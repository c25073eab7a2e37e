"""The base of all layer types: `Layer`, its blobs, and mixins for further abilities."""

from __future__ import annotations

from netdsl.layer.blobs import Shape, new_blob
from netdsl.layer.core import Count, Layer, axis_of, positive
from netdsl.layer.data import BringsData
from netdsl.layer.deploying import Loss, NotDeployed
from netdsl.layer.onnx_form import HasOnnxForm, OnnxGraph

__all__ = [
    "BringsData",
    "Count",
    "HasOnnxForm",
    "Layer",
    "Loss",
    "NotDeployed",
    "OnnxGraph",
    "Shape",
    "axis_of",
    "new_blob",
    "positive",
]
