"""Silence: blobs that nobody reads, so that they aren't outputs of the net."""

from __future__ import annotations

from torch import Tensor

from netdsl.layer import Layer
from netdsl.layer.onnx_graph import OnnxGraph


class Silence(Layer):
    """It has no top."""

    bottoms = (1, None)
    tops = (0, 0)
    predictions = ()

    def forward(self, *bottoms: Tensor) -> tuple[()]:
        return ()

    def onnx(self, g: OnnxGraph, *bottoms: str) -> tuple[()]:
        return ()
