"""What the poolings of regions share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from netdsl.errors import ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layers._labels import indices_of


def rounded(x: Tensor) -> Tensor:
    """C's rule, other than torch's: a half is rounded away from zero."""
    whole = x.trunc()
    return whole + ((x - whole).abs() >= 0.5) * x.sign()


def rounded_onnx(g: OnnxGraph, x: str) -> str:
    """The same, told to an ONNX graph."""
    size = g.node("Floor", scaled(g, g.node("Abs", x), 1, 0.5))
    return g.node("Mul", g.node("Sign", x), size)


def check_regions(bottoms: Sequence[Shape]) -> None:
    """A ShapeError unless the bottoms are a feature map and regions."""
    x, regions = bottoms
    if len(x) != 4:
        raise ShapeError(f"needs a feature map of (batch, channels, height, width), not {list(x)}")
    if not regions or math.prod(regions[1:]) != 5:
        raise ShapeError(f"a region is (image, x1, y1, x2, y2), but the second bottom has shape {list(regions)}")


def images_of(regions: Tensor, x: Tensor) -> Tensor:
    """The image of every region; a NetError if the batch has none of that number."""
    return indices_of(regions[:, 0], len(x), "images", "give the first bottom more items")
