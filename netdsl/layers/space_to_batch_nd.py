"""SpaceToBatchND: pixels distributed over more items, so that a plain convolution acts as a dilated one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, reshaped, transposed


class SpaceToBatchND(HasOnnxForm):
    """Pads the axes after the batch with 0 and distributes blocks of `block_shape` over the batch.

    Item `place * batch + n` contains the values at that place of each block of item n.
    """

    config = pb.SpaceToBatchNDParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.space_to_batch_nd_param
        self.blocks, self.paddings = list(p.block_shape), list(p.paddings)
        check_blocks(self.blocks, self.paddings, "paddings", bottoms[0])
        for axis, block in enumerate(self.blocks, 1):
            size = bottoms[0][axis] + sum(self.paddings[2 * axis - 2 : 2 * axis])
            if size % block:
                raise ShapeError(
                    f"block_shape {block} doesn't divide the padded size {size} of axis {axis}; raise the "
                    "axis's padding to the next multiple"
                )

    def forward(self, x: Tensor) -> Tensor:
        count = len(self.blocks)
        pairs = list(zip(self.paddings[::2], self.paddings[1::2], strict=True))
        untouched = [0, 0] * (x.dim() - 1 - count)
        x = F.pad(x, untouched + [size for pair in reversed(pairs) for size in pair])
        parts = [part for size, block in zip(x.shape[1:], self.blocks, strict=False) for part in (size // block, block)]
        rest = x.shape[1 + count :]
        places, rows = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
        apart = x.reshape(len(x), *parts, *rest).permute(
            *places, 0, *rows, *range(2 * count + 1, 2 * count + 1 + len(rest))
        )
        return apart.reshape(len(x) * math.prod(self.blocks), *parts[::2], *rest)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        count, lengths = len(self.blocks), [g.length(x, axis) for axis in range(1, len(g.shape(x)))]
        untouched = [0] * (len(lengths) - count)
        begins, ends = self.paddings[::2], self.paddings[1::2]
        x = g.node("Pad", x, g.constant([0, *begins, *untouched, 0, *ends, *untouched]))
        sizes = [(size + begin + end) // block
                 for size, begin, end, block in zip(lengths, begins, ends, self.blocks, strict=False)]  # fmt: skip
        parts = [part for pair in zip(sizes, self.blocks, strict=True) for part in pair]
        rest = lengths[count:]
        places, rows = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
        x = transposed(
            g, reshaped(g, x, 0, *parts, *rest), *places, 0, *rows, *range(2 * count + 1, len(rest) + 2 * count + 1)
        )
        return reshaped(g, x, UNKNOWN, *sizes, *rest)


def check_blocks(blocks: Sequence[int], borders: Sequence[int], name: str, bottom: Shape) -> None:
    """Raise an error unless there are two borders for each block length, and enough axes after the batch."""
    if not blocks or min(blocks) < 1 or len(borders) != 2 * len(blocks):
        raise NetError(
            f"block_shape is {list(blocks)}, with {len(borders)} {name}; set 1 or more for each axis, "
            f"and two {name} for each"
        )
    if len(bottom) <= len(blocks):
        raise ShapeError(
            f"{len(blocks)} block_shape need a bottom with more than {len(blocks)} axes; write one block_shape "
            "for each axis after the first"
        )
