"""Dropout: random values set to zero in training."""

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
    """Sets values to zero with probability `dropout_ratio` and scales the others up to compensate.

    Faster R-CNN's `scale_train: false` scales all values down in TEST instead. Bayesian SegNet's `sample_weights_test`
    also drops values in TEST.
    """

    config = pb.DropoutParameter
    any_layout = False  # random numbers are drawn in memory order

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.dropout_param
        refuse(p, "sqrt_scale")
        drops = layer.phase == pb.TRAIN or p.sample_weights_test
        if not 0 <= p.dropout_ratio <= 1 or (drops and p.dropout_ratio == 1):  # Caffe doesn't read the ratio in TEST
            raise NetError(f"dropout_ratio is {p.dropout_ratio:g}; set it to at least 0 and less than 1")
        self.ratio, self.scale_train, self.sample_in_test = p.dropout_ratio, p.scale_train, p.sample_weights_test

    def forward(self, x: Tensor) -> Tensor:
        sampling = self.training or self.sample_in_test
        top = F.dropout(x, self.ratio) if sampling else x.view_as(x)
        return top if self.scale_train else top * (1 - self.ratio)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if self.sample_in_test:
            raise ConversionError("can't be exported with random dropout in TEST; remove sample_weights_test")
        return g.node("Dropout", x, g.constant(self.ratio)) if self.scale_train else scaled(g, x, 1 - self.ratio)
