"""Unpooling: DeconvNet's inverse of pooling, which restores values to their positions or spreads them over windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, part, reshaped
from netdsl.layers._pooling import check_mask, put_back, put_back_onnx
from netdsl.layers._settings import refuse
from netdsl.layers._window import Numbers, per_axis

_METHODS = pb.UnPoolingParameter
_OF_PARSENET = ("out_pad", "out_pad_h", "out_pad_w", "out_kernel_size", "out_kernel_h", "out_kernel_w", "out_stride",
                "out_stride_h", "out_stride_w")  # fmt: skip
_MAX, _AVE, _TILE = _METHODS.MAX, _METHODS.AVE, _METHODS.TILE


class Unpooling(HasOnnxForm):
    """Writes the bottom's values to the positions in a pooling's mask, the second bottom, and zeros elsewhere.

    Without a mask, values go to the corners of the windows. AVE divides each value equally over its window, and TILE
    repeats it. Where windows overlap, values are added. The fork's rule: the gradient of TILE is that of AVE.
    """

    origin = "deconvnet"
    config = _METHODS
    bottoms = (1, 2)
    no_gradient = (1,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.unpooling_param
        refuse(p, *_OF_PARSENET)
        self.method = p.unpool if p.HasField("unpool") else _MAX
        if self.method not in (_MAX, _AVE, _TILE):
            name = _METHODS.UnPoolMethod.Name(self.method)
            raise NetError(f"unpool: {name} belongs to ParseNet and isn't supported; use MAX, AVE or TILE")
        if any(len(shape) != 4 for shape in bottoms):
            raise ShapeError("all bottoms must be images with 4 axes; reshape them to 4 axes with Reshape layers")
        if len(bottoms) == 2:
            check_mask(bottoms)
        if any(per_axis(p, "pad", 2, 0)):
            raise NetError("pad isn't 0, which the fork doesn't support; remove pad")
        self.kernel, self.stride = per_axis(p, "kernel_size", 2, None), per_axis(p, "stride", 2, 1)
        self.size = _size(p)
        if min(*self.kernel, *self.stride, *self.size) < 1:
            raise NetError("kernel, stride or the size of the top is less than 1; set all of them to 1 or more")
        self._check_windows(bottoms[0])

    def _check_windows(self, bottom: Shape) -> None:
        if self.method == _MAX:
            return
        for length, step, most in zip(bottom[2:], self.stride, self.size, strict=True):
            if (length - 1) * step >= most:
                raise ShapeError(
                    f"the last of {length} windows starts beyond the top, which is {most} long; raise the size of "
                    "the top"
                )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self._check_windows(bottoms[0])
        return [(*bottoms[0][:2], *self.size)]

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.method == _MAX:
            mask = self._corners(x.shape, x.device).expand_as(x) if mask is None else mask
            return put_back(x, mask, *self.size)
        parts = self._spread(x / self._areas(x))
        if self.method == _AVE:
            return parts
        return parts + (self._spread(x.detach()) - parts).detach()

    def onnx(self, g: OnnxGraph, x: str, mask: str = "") -> str:
        shape = (1, g.length(x, 1), g.length(x, 2), g.length(x, 3))
        if self.method == _MAX:
            corners = g.constant(self._corners(shape, "cpu").to(torch.float32).numpy())
            return put_back_onnx(g, x, mask or g.node("Expand", corners, g.node("Shape", x)), *self.size)
        if self.method == _AVE:
            x = g.node("Div", x, g.constant(self._areas(torch.empty(shape, device="cpu")).numpy()))
        return self._spread_onnx(g, x, shape)

    def _corners(self, shape: Sequence[int], device: torch.device | str) -> Tensor:
        """Return where the windows start in the top, limited to its last row and column."""
        rows, columns = (
            (torch.arange(length, device=device) * step).clamp_max(most - 1)
            for length, step, most in zip(shape[2:], self.stride, self.size, strict=True)
        )
        return (rows[:, None] * self.size[1] + columns).view(1, 1, *shape[2:])

    def _spread(self, x: Tensor) -> Tensor:
        """Return each value repeated over the part of its window in the top."""
        window = x.new_ones(1, 1, *self.kernel)
        top = F.conv_transpose2d(x.reshape(-1, 1, *x.shape[2:]), window, stride=self.stride)
        missing = [most - size for most, size in zip(self.size, top.shape[2:], strict=True)]
        return F.pad(top, [0, missing[1], 0, missing[0]]).view(*x.shape[:2], *self.size)

    def _spread_onnx(self, g: OnnxGraph, x: str, shape: Shape) -> str:
        """Write `_spread` in ONNX operators."""
        covered = [
            (length - 1) * step + size for length, step, size in zip(shape[2:], self.stride, self.kernel, strict=True)
        ]
        window = g.constant(np.ones((1, 1, *self.kernel), np.float32))
        top = g.node("ConvTranspose", reshaped(g, x, UNKNOWN, 1, *shape[2:]), window, strides=list(self.stride))
        for axis, (size, most) in enumerate(zip(covered, self.size, strict=True), 2):
            top = part(g, top, axis, 0, most) if size > most else top
        missing = [max(0, most - size) for size, most in zip(covered, self.size, strict=True)]
        top = g.node("Pad", top, g.constant([0] * 6 + missing)) if any(missing) else top
        return reshaped(g, top, UNKNOWN, shape[1], *self.size)

    def _areas(self, x: Tensor) -> Tensor:
        """Return the area of each window in the top."""
        rows, columns = (
            (most - torch.arange(length, device=x.device) * step).clamp_max(size).to(x.dtype)
            for length, step, most, size in zip(x.shape[2:], self.stride, self.size, self.kernel, strict=True)
        )
        return rows[:, None] * columns


def _size(p: pb.UnPoolingParameter) -> Numbers:
    """Return the height and width of the top, which the fork requires."""
    both = p.HasField("unpool_h") and p.HasField("unpool_w")
    if p.HasField("unpool_size") == both:
        raise NetError("the size of the top isn't set; set unpool_size, or both unpool_h and unpool_w")
    return (p.unpool_h, p.unpool_w) if both else (p.unpool_size, p.unpool_size)
