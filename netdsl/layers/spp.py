"""SPP: spatial pyramid pooling, whose top has the same length for images of any size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, positive
from netdsl.layers import _pooling as pool
from netdsl.layers._window import Window, plain


class SPP(HasOnnxForm):
    """Pools into 1 x 1, 2 x 2, 4 x 4 ... bins and concatenates the results."""

    config = pb.SPPParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must have 4 axes (num, channels, height, width), not {len(bottoms[0])}; reshape it "
                "to 4 axes with a Reshape layer"
            )
        self.levels = positive(layer.spp_param, "pyramid_height")
        self.method = layer.spp_param.pool

    def forward(self, x: Tensor) -> Tensor:
        if self.levels == 1:
            return self._pool(x, 1)
        return torch.cat([self._pool(x, 2**level).flatten(1) for level in range(self.levels)], 1)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        levels = [self._pool_onnx(g, x, 2**level) for level in range(self.levels)]
        if self.levels == 1:
            return levels[0]
        return g.node("Concat", *(g.node("Flatten", level) for level in levels), axis=1)

    def _pool_onnx(self, g: OnnxGraph, x: str, bins: int) -> str:
        window = _window((g.length(x, 2), g.length(x, 3)), bins)
        if self.method == pb.SPPParameter.MAX:
            return pool.max_pool_onnx(g, x, window, ceil=True)
        if self.method == pb.SPPParameter.AVE:
            return pool.average_pool_onnx(g, x, pool.sizes_of(g, x), window, ceil=True)
        return pool.weighted_pool_onnx(g, x, window, ceil=True)

    def _pool(self, x: Tensor, bins: int) -> Tensor:
        window = _window(x.shape[2:], bins)
        if self.method == pb.SPPParameter.MAX:
            return pool.max_pool(x, window, ceil=True)
        if self.method == pb.SPPParameter.AVE:
            return pool.average_pool(x, window, ceil=True)
        if any(window.begin):
            raise ShapeError(
                f"STOCHASTIC pooling doesn't support padding, and {bins} bins don't divide {list(x.shape[2:])}; use "
                "MAX or AVE"
            )
        return (pool.drawn_pool if self.training else pool.weighted_pool)(x, window, ceil=True)


def _window(sizes: Sequence[int], bins: int) -> Window:
    """Return the window for a number of bins. Caffe's rule: kernels are rounded up, and padding fills the
    difference."""
    kernel = [-(-size // bins) for size in sizes]
    pad = [(each * bins - size + 1) // 2 for each, size in zip(kernel, sizes, strict=True)]
    if any(cut >= each for cut, each in zip(pad, kernel, strict=True)):
        raise ShapeError(f"an image of {list(sizes)} is too small for {bins} x {bins} bins; lower pyramid_height")
    return plain(kernel, kernel, pad)
