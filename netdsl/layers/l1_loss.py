"""L1Loss: the mean L1 distance between two blobs, used for DetectNet's boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reduced, reshaped, scaled
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss
from netdsl.layers._settings import refuse

_OF_FLOWNET = ("l2_per_location", "l2_prescale_by_channels", "normalize_by_num_entries", "epsilon", "plateau")


class L1Loss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes sum |x - y| / N. Both bottoms get a gradient.

    FlowNet's type of this name is supported only without its own settings.
    """

    meaning = Meaning.VALUES
    config = pb.L1LossParameter
    origin = "NVIDIA"
    no_gradient = ()
    predictions = (0, 1)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.l1_loss_param, *_OF_FLOWNET)
        if math.prod(bottoms[0]) != math.prod(bottoms[1]):
            raise ShapeError(
                f"both bottoms must have the same number of values, but they have shapes {list(bottoms[0])} and "
                f"{list(bottoms[1])}; connect bottoms of one shape"
            )

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y.reshape(x.shape)).abs().sum() / len(x)

    def onnx(self, g: OnnxGraph, x: str, y: str) -> str:
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        difference = g.node("Sub", x, reshaped(g, y, *lengths))
        return scaled(g, reduced(g, "ReduceL1", difference, range(len(lengths)), keep=False), 1 / lengths[0])
