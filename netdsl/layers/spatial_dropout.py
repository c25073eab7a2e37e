"""SpatialDropout: random channels set to zero in training."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import KeepsSigns
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._elementwise import Elementwise


class SpatialDropout(Elementwise, KeepsSigns, ReplacesUserCode):
    """Computes x * mask / (1 - ratio), with one random bit for each channel of each item.

    In TEST, it copies the bottom. The ratio is in `spatial_dropout_param`, or in `dropout_param` in Intel's fork. The
    type also replaces ENet's Python layer. That layer's `param_str` contains the ratio and its own phase, and in TEST
    it still multiplies by 1 / (1 - ratio).
    """

    config = pb.SpatialDropoutParameter
    python_names = ("spatial_dropout.SpatialDropoutLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        named = layer.HasField("spatial_dropout_param")
        self.ratio = (layer.spatial_dropout_param if named else layer.dropout_param).dropout_ratio
        self.phase = ""
        if layer.HasField("python_param"):
            self.ratio, self.phase = _settings(layer.python_param.param_str)
        if not 0 <= self.ratio < 1:
            raise NetError(f"dropout_ratio is {self.ratio:g}; set it to at least 0 and less than 1")

    def forward(self, x: Tensor) -> Tensor:
        if not (self.phase == "TRAIN" if self.phase else self.training):
            return x / (1 - self.ratio) if self.phase else x.view_as(x)
        mask = x.new_empty(*x.shape[:2], *[1] * (x.dim() - 2)).bernoulli_(1 - self.ratio)
        return x * (mask / (1 - self.ratio))

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if self.phase == "TRAIN":
            raise ConversionError("can't be exported with random dropout in TEST; set 'phase': 'TEST' in param_str")
        return scaled(g, x, 1 / (1 - self.ratio)) if self.phase else x


def _settings(text: str) -> tuple[float, str]:
    try:
        settings = literal_eval(text)
        return float(settings["p"]), str(settings["phase"])
    except (ValueError, SyntaxError, KeyError, TypeError):
        raise NetError(f"param_str is {text}; write it like {{'phase': 'TRAIN', 'p': 0.1}}") from None
