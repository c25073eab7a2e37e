"""Concat: several blobs joined along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import flattened, reshaped, transposed
from netdsl.layer.running import MakesNewMemory, SharesMemory


class Concat(HasOnnxForm, MakesNewMemory, SharesMemory):
    """Joins all bottoms along `axis`.

    Intel's `per_fla_fuse` first permutes each bottom so that channels are last, then flattens it. The blobs are joined
    on axis 1, and the top has two more axes of length 1.
    """

    config = pb.ConcatParameter
    bottoms = (1, None)
    in_place = True
    any_layout = True
    in_place_in_caffe = "Caffe assumes that the first bottom is as long as the top and writes beyond its memory"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.concat_param
        if p.HasField("axis") and p.HasField("concat_dim"):
            raise NetError("axis and concat_dim are both set but mean the same; remove one of them")
        old = p.HasField("concat_dim")
        self.axis = axis_of(p.concat_dim if old else p.axis, len(bottoms[0]), "concat_dim" if old else "axis")
        self.permutes = p.per_fla_fuse and self.axis == 1
        self._check_other_axes(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the bottoms' shape with the sum of their lengths along the axis."""
        self._check_other_axes(bottoms)
        if self.permutes:
            return [(*bottoms[0][:1], sum(math.prod(shape[1:]) for shape in bottoms), 1, 1)]
        length = sum(shape[self.axis] for shape in bottoms)
        return [(*bottoms[0][: self.axis], length, *bottoms[0][self.axis + 1 :])]

    def forward(self, *bottoms: Tensor) -> Tensor:
        if self.permutes:
            return torch.cat([bottom.movedim(1, -1).flatten(1) for bottom in bottoms], 1)[..., None, None]
        return torch.cat(bottoms, self.axis)

    def shares_memory(self) -> bool:
        return len(self.layer.bottom) == 1 and not self.permutes

    def _check_other_axes(self, bottoms: Sequence[Shape]) -> None:
        rests = [shape[:1] if self.permutes else _without(shape, self.axis) for shape in bottoms]
        for index, (shape, rest) in enumerate(zip(bottoms, rests, strict=True)):
            if rest != rests[0] or len(shape) != len(bottoms[0]):
                where = f"except on axis {self.axis}; bottom '{self.layer.bottom[0]}' is {list(bottoms[0])}"
                other = f"'{self.layer.bottom[index]}' is {list(shape)}"
                raise ShapeError(
                    f"all bottoms must have the same shape {where}, {other}; give them the same size, for example "
                    "with the pad or the crop of a layer before it"
                )

    def onnx(self, g: OnnxGraph, *bottoms: str) -> str:
        if not self.permutes:
            return g.node("Concat", *bottoms, axis=self.axis)
        rows = [flattened(g, transposed(g, each, 0, *range(2, len(g.shape(each))), 1), 1) for each in bottoms]
        return reshaped(g, g.node("Concat", *rows, axis=1), 0, 0, 1, 1)


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])
