"""ChannelScale: channels scaled by one number for each position."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import length_of, reshaped
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layers._settings import refuse


class ChannelScale(HasOnnxForm, ReadsInBackward):
    """Computes the product of the first bottom and the second one, which has one number for each item and position."""

    config = pb.ChannelScaleParameter
    bottoms = (2, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.channel_scale_param, "do_forward", "do_backward_feature", "do_backward_scale", "global_scale")
        x, scale = bottoms
        places = (x[0], *x[2:]) if len(x) > 1 else None
        if places is None or tuple(size for size in scale[1:] if size != 1) != tuple(
            size for size in x[2:] if size != 1
        ):
            raise ShapeError(
                "the second bottom must have one number for each item and position, but the shapes are "
                f"{list(x)} and {list(scale)}; connect a blob with a single channel and the same other axes"
            )

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        return x * scale.reshape(len(x), 1, *x.shape[2:])

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str, scale: str) -> str:
        return g.node(
            "Mul", x, reshaped(g, scale, 0, 1, *(length_of(g, x, axis) for axis in range(2, len(g.shape(x)))))
        )
