"""Pooling: the maximum or the average of each window."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.running import MakesNewMemory
from netdsl.layers import _pooling as pool
from netdsl.layers._settings import refuse
from netdsl.layers._window import Window, is_same, per_axis, plain, sides

_FOREIGN = ("pad_3d", "kernel_size_3d", "stride_3d", "axis", "torch_pooling", "bin_size", "bin_h", "bin_w", "dilation",
            "output_shift_instead_division", "saturate", "blobs_lr", "blobs_a_min")  # fmt: skip
_MAX, _AVE, _STOCHASTIC = pb.PoolingParameter.MAX, pb.PoolingParameter.AVE, pb.PoolingParameter.STOCHASTIC
_EXC_PAD = (pb.PoolingParameter.AVE_EXC_PAD, pb.PoolingParameter.AVE_TF)  # two names for the same setting


class Pooling(HasOnnxForm, MakesNewMemory):
    """Computes the maximum or the average of each window, or a random value with a probability proportional to it.

    The second top of MAX contains the positions of the maxima.
    """

    config = pb.PoolingParameter
    tops = (1, 2)
    any_layout = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.pooling_param
        refuse(p, *_FOREIGN)
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must have 4 axes (num, channels, height, width), not {len(bottoms[0])}; reshape it "
                "to 4 axes with a Reshape layer"
            )
        if p.pool not in (_MAX, _AVE, _STOCHASTIC, *_EXC_PAD):
            name = pb.PoolingParameter.PoolMethod.Name(p.pool)
            raise NetError(f"pool: {name} belongs to a fork of Caffe and isn't supported; use MAX, AVE or STOCHASTIC")
        self.method, self.mask = p.pool, len(layer.top) > 1
        self.discontinuous = self.mask
        if self.mask and p.pool != _MAX:
            raise NetError("only MAX pooling has a second top, the mask; remove the top or set pool: MAX")
        self.include_pad = p.avg_include_pad and p.pool not in _EXC_PAD
        self.ceil = p.ceil_mode if p.HasField("ceil_mode") else p.round_mode == pb.PoolingParameter.CEIL
        self.window = None if p.global_pooling else _window(p)
        self.ceil = self.ceil and not is_same(p)
        if p.global_pooling:
            _check_global(p)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes of the tops, which follow from the bottom and the window. Raises a `ShapeError` if the
        bottom is too small."""
        if self.window is None:
            return [(*bottoms[0][:2], 1, 1)] * len(self.layer.top)
        pooled = pool.pooled_size(bottoms[0][2:], self.window.on(bottoms[0][2:]), self.ceil)
        if min(pooled) < 1:
            sizes = _numbers(bottoms[0][2:])
            raise ShapeError(
                f"kernel {_numbers(self.window.kernel)} is larger than the bottom, {sizes}, with its pad; lower "
                "kernel_size"
            )
        return [(*bottoms[0][:2], *pooled)] * len(self.layer.top)

    def products(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return the number of values in all windows."""
        window = math.prod(bottoms[0][2:] if self.window is None else self.window.kernel)
        return window * math.prod(tops[0])

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        window = self.window.on(x.shape[2:]) if self.window else plain(x.shape[2:])
        if self.method == _MAX:
            return (pool.max_pool_with_mask if self.mask else pool.max_pool)(x, window, self.ceil)
        if self.method == _STOCHASTIC:
            return (pool.drawn_pool if self.training else pool.weighted_pool)(x, window, self.ceil)
        return pool.average_pool(x, window, self.ceil, include_pad=self.include_pad)

    def onnx(self, g: OnnxGraph, x: str) -> str | tuple[str, str]:
        if self.window is None and self.method != _STOCHASTIC and not self.mask:
            return g.node("GlobalMaxPool" if self.method == _MAX else "GlobalAveragePool", x)
        lengths = (g.length(x, axis) for axis in (2, 3))  # those that the window needs
        window = self.window.on(lengths) if self.window else plain(lengths)
        if self.mask:
            return pool.max_pool_with_mask_onnx(g, x, window, self.ceil)
        if self.method == _MAX:
            return pool.max_pool_onnx(g, x, window, self.ceil)
        if self.method == _STOCHASTIC:
            return pool.weighted_pool_onnx(g, x, window, self.ceil)
        return pool.average_pool_onnx(g, x, pool.sizes_of(g, x), window, self.ceil, include_pad=self.include_pad)


def _window(p: pb.PoolingParameter) -> Window:
    begin, end = sides(p, 2) or (per_axis(p, "pad", 2, 0),) * 2
    window = Window(per_axis(p, "kernel_size", 2, None), per_axis(p, "stride", 2, 1), begin, end, (1, 1), is_same(p))
    for pads in (begin, end):
        if any(pad >= size for pad, size in zip(pads, window.kernel, strict=True)):
            raise NetError(f"pad {_numbers(pads)} isn't smaller than kernel {_numbers(window.kernel)}; lower pad")
    if p.pool == _STOCHASTIC and (window.same or any(begin + end)):
        raise NetError("STOCHASTIC pooling doesn't support padding; remove pad")
    return window


def _numbers(values: Sequence[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else " x ".join(map(str, values))


def _check_global(p: pb.PoolingParameter) -> None:
    if any(map(p.HasField, ("kernel_size", "kernel_h", "kernel_w"))):
        raise NetError("global_pooling uses the whole image as its kernel; remove kernel_size, kernel_h and kernel_w")
    if {*per_axis(p, "stride", 2, 1)} != {1} or any({*per_axis(p, "pad", 2, 0)}) or sides(p, 2) or is_same(p):
        raise NetError("global_pooling needs stride 1 and pad 0; remove stride and pad")
