"""Reshape: the same values in another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import length_of, reshaped
from netdsl.layer.running import SharesMemory


class Reshape(HasOnnxForm, SharesMemory):
    """Replaces `num_axes` axes from `axis` on by `shape`: 0 copies the bottom's length and -1 is the remaining length.

    Intel's `pixelshuffler` rearranges r x r channels as r times the height and width instead.
    """

    config = pb.ReshapeParameter
    keeps_values = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.reshape_param
        self.shuffled = p.pixelshuffler
        self.dims = tuple(p.shape.dim)
        if self.dims.count(-1) > 1 or any(size < -1 for size in self.dims):
            raise NetError(f"shape {list(self.dims)} is invalid; use -1 at most once and no other negative number")
        self.start, self.end = self._range(p, len(bottoms[0]))
        if self.shuffled == 1:
            self._check_copied_axes(bottoms[0])

    def _range(self, p: pb.ReshapeParameter, axes: int) -> tuple[int, int | None]:
        """Return the range of axes to replace. A negative `axis` counts from the end, where -1 is behind the last
        axis."""
        start = p.axis if p.axis >= 0 else axes + p.axis + 1
        if not 0 <= start <= axes:
            raise ShapeError(
                f"axis {p.axis} doesn't exist: the bottom has {axes} axes; set axis to a number from 0 to {axes}"
            )
        if p.num_axes == -1:
            return start, None
        if p.num_axes < 0 or start + p.num_axes > axes:
            raise ShapeError(
                f"num_axes {p.num_axes} from axis {start} on is too many: the bottom has {axes} axes; lower "
                "num_axes, or leave it out"
            )
        return start, start + p.num_axes

    def _check_copied_axes(self, bottom: Shape) -> None:
        for index, size in enumerate(self.dims):
            if size == 0 and self.start + index >= len(bottom):
                raise ShapeError(
                    f"the 0 at place {index} of the shape copies an axis that {list(bottom)} doesn't have; "
                    "write the axis's length instead of 0"
                )
        target, count = self._target(bottom), math.prod(bottom)
        known = math.prod(size for size in target if size != -1)
        if (count % known if known else count) if -1 in target else known != count:
            raise ShapeError(
                f"{list(bottom)} has {count} values, which don't fit into shape {list(target)}; write -1 for "
                "one of its lengths, which is then computed"
            )

    def _target(self, bottom: Shape) -> Shape:
        new = [size if size else bottom[self.start + index] for index, size in enumerate(self.dims)]
        rest = bottom[self.end :] if self.end is not None else ()
        return (*bottom[: self.start], *new, *rest)

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(self._target(x.shape)) if self.shuffled == 1 else F.pixel_shuffle(x, self.shuffled)

    def shares_memory(self) -> bool:
        return self.shuffled == 1

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if self.shuffled != 1:
            return g.node("DepthToSpace", x, blocksize=self.shuffled, mode="CRD")
        axes = len(g.shape(x))
        rest = [length_of(g, x, axis) for axis in range(axes if self.end is None else self.end, axes)]
        return reshaped(g, x, *[0] * self.start, *self.dims, *rest)
