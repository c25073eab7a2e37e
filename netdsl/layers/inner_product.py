"""InnerProduct: a fully connected layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of, new_blob, positive
from netdsl.layer.deploying import AbsorbsAffine, BecomesConvolution, NewLayer
from netdsl.layer.onnx_form import reshaped
from netdsl.layer.running import MakesNewMemory, Reads, ReadsInBackward
from netdsl.layers._settings import refuse


class InnerProduct(AbsorbsAffine, BecomesConvolution, HasOnnxForm, MakesNewMemory, ReadsInBackward):
    """Multiplies the weights by the vector of all values from `axis` on, and adds a bias."""

    config = pb.InnerProductParameter
    blobs = ("weight", "bias")
    in_place = True
    in_place_in_caffe = "Caffe's matrix product overwrites numbers that it still needs"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.inner_product_param
        refuse(p, "relu", "normalize")
        self.axis = axis_of(p.axis, len(bottoms[0]))
        self.transpose = p.transpose
        self.inputs = math.prod(bottoms[0][self.axis :])
        self.outputs = positive(p, "num_output")
        shape = (self.inputs, self.outputs) if p.transpose else (self.outputs, self.inputs)
        self.weight = new_blob(p.weight_filler, shape)
        self.bias = new_blob(p.bias_filler, (self.outputs,)) if p.bias_term else None

    def with_affine(self, factor: Tensor, shift: Tensor) -> NewLayer | None:
        if self.axis != 1:
            return None
        made = copy_of(self.layer)
        made.inner_product_param.ClearField("bias_term")
        weight = self.weight * (factor if self.transpose else factor[:, None])
        return made, [weight, shift if self.bias is None else self.bias * factor + shift]

    def as_convolution(self, bottom: Shape) -> NewLayer | None:
        """Return a convolution that computes the same values, or `None` if the layer works in place.

        The kernel is as large as the image that the layer was built for.
        """
        if self.axis != 1 or len(bottom) not in (2, 4) or self.works_in_place():
            return None
        height, width = bottom[2:] or (1, 1)
        made, p = copy_of(self.layer, without=["inner_product_param"]), self.layer.inner_product_param
        made.type = "Convolution"
        made.convolution_param.num_output = p.num_output
        made.convolution_param.kernel_h, made.convolution_param.kernel_w = height, width
        if not p.bias_term:
            made.convolution_param.bias_term = False
        weight = (self.weight.t() if self.transpose else self.weight).reshape(p.num_output, -1, height, width)
        return made, [weight, *([] if self.bias is None else [self.bias])]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes without computing them on meta tensors, where torch would load its compiler for seconds."""
        self._check_inputs(bottoms[0])
        return [(*bottoms[0][: self.axis], self.outputs)]

    def forward(self, x: Tensor) -> Tensor:
        self._check_inputs(x.shape)
        return F.linear(x.flatten(self.axis), self.weight.t() if self.transpose else self.weight, self.bias)

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES if self.weight.requires_grad else Reads.NOTHING

    def _check_inputs(self, bottom: Shape) -> None:
        found = math.prod(bottom[self.axis :])
        if found != self.inputs:
            raise ShapeError(
                f"the weights are for {self.inputs} values per item, but the bottom {list(bottom)} has {found}; "
                "use weights of this net, or correct the shape of its data"
            )

    def onnx(self, g: OnnxGraph, x: str) -> str:
        shape = g.shape(x)
        if len(shape) != 2 or self.axis != 1:
            x = g.node("Flatten", x, axis=self.axis)
        bias = () if self.bias is None else (g.blob(self, "bias"),)
        y = g.node("Gemm", x, g.blob(self, "weight"), *bias, transB=int(not self.transpose))
        return y if self.axis == 1 else reshaped(g, y, *shape[: self.axis], self.outputs)
