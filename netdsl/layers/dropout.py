"""Dropout: values left out by chance while training."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import KeepsSigns
from netdsl.layers._elementwise import Elementwise
from netdsl.layers._settings import refuse


class Dropout(Elementwise, KeepsSigns):
    """Values are left out with the chance `dropout_ratio`, and the others scaled up to make up for it.

    With `scale_train: false`, of Faster R-CNN, all are scaled down in a test instead. With `sample_weights_test`, of
    Bayesian SegNet, values are left out in a test too.
    """

    config = pb.DropoutParameter
    any_layout = False  # what is left out is drawn in the order of memory

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.dropout_param
        refuse(p, "sqrt_scale")
        if not 0 <= p.dropout_ratio < 1:
            raise NetError(f"dropout_ratio {p.dropout_ratio:g} must be at least 0 and less than 1")
        self.ratio, self.scale_train, self.sample_in_test = p.dropout_ratio, p.scale_train, p.sample_weights_test

    def forward(self, x: Tensor) -> Tensor:
        sampling = self.training or self.sample_in_test
        top = F.dropout(x, self.ratio) if sampling else x.view_as(x)
        return top if self.scale_train else top * (1 - self.ratio)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if self.sample_in_test:
            raise ConversionError("leaves values out by chance, which has no ONNX form")
        return g.node("Dropout", x, g.constant(self.ratio)) if self.scale_train else scaled(g, x, 1 - self.ratio)
