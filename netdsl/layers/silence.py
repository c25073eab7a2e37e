"""Silence: unused blobs that should not be outputs of the net."""

from __future__ import annotations

from torch import Tensor

from netdsl.layer import HasOnnxForm, NotDeployed, OnnxGraph


class Silence(NotDeployed, HasOnnxForm):
    """Consumes blobs and has no top."""

    bottoms = (1, None)
    tops = (0, 0)

    def forward(self, *bottoms: Tensor) -> tuple[()]:
        return ()

    def onnx(self, g: OnnxGraph, *bottoms: str) -> tuple[()]:
        return ()
