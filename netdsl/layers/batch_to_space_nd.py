"""BatchToSpaceND: the inverse of SpaceToBatchND."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, part, reshaped, transposed
from netdsl.layers.space_to_batch_nd import check_blocks


class BatchToSpaceND(HasOnnxForm):
    """Moves items of the batch to the positions of blocks of `block_shape`, and removes `crops` from the borders."""

    config = pb.BatchToSpaceNDParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.batch_to_space_nd_param
        self.blocks, self.crops = list(p.block_shape), list(p.crops)
        check_blocks(self.blocks, self.crops, "crops", bottoms[0])
        if bottoms[0][0] % math.prod(self.blocks):
            raise ShapeError(
                f"the batch size {bottoms[0][0]} must be a multiple of the {math.prod(self.blocks)} positions "
                "in a block; set such a batch size in the data layer"
            )
        for axis, block in enumerate(self.blocks, 1):
            if bottoms[0][axis] * block <= sum(self.crops[2 * axis - 2 : 2 * axis]):
                raise ShapeError(f"crops remove everything along axis {axis}; lower crops")

    def forward(self, x: Tensor) -> Tensor:
        count, items = len(self.blocks), len(x) // math.prod(self.blocks)
        sizes, rest = x.shape[1 : 1 + count], x.shape[1 + count :]
        pairs = [place for axis in range(count) for place in (count + 1 + axis, axis)]
        others = range(2 * count + 1, 2 * count + 1 + len(rest))
        whole = x.reshape(*self.blocks, items, *sizes, *rest).permute(count, *pairs, *others)
        whole = whole.reshape(items, *(size * block for size, block in zip(sizes, self.blocks, strict=True)), *rest)
        for axis in range(count):
            begin, end = self.crops[2 * axis : 2 * axis + 2]
            whole = whole.narrow(axis + 1, begin, whole.shape[axis + 1] - begin - end)
        return whole

    def onnx(self, g: OnnxGraph, x: str) -> str:
        count, lengths = len(self.blocks), [g.length(x, axis) for axis in range(1, len(g.shape(x)))]
        pairs = [place for axis in range(count) for place in (count + 1 + axis, axis)]
        others = range(2 * count + 1, count + 1 + len(lengths))
        x = transposed(g, reshaped(g, x, *self.blocks, UNKNOWN, *lengths), count, *pairs, *others)
        sizes = [size * block for size, block in zip(lengths, self.blocks, strict=False)]
        x = reshaped(g, x, UNKNOWN, *sizes, *lengths[count:])
        for axis, size in enumerate(sizes):
            begin, end = self.crops[2 * axis : 2 * axis + 2]
            x = part(g, x, axis + 1, begin, size - end) if begin or end else x
        return x
