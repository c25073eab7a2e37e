"""What Scale and Bias share: a small blob that lies along some axes of a bottom."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import reshaped


def span(bottom: Shape, axis: int, num_axes: int) -> Shape:
    """The shape of a learned blob: `num_axes` axes of the bottom from `axis` on, or all the rest for -1."""
    if num_axes < -1:
        raise NetError(f"num_axes {num_axes} must be 0 or more, or -1 for all axes from axis {axis} on")
    start = axis_of(axis, len(bottom))
    stop = len(bottom) if num_axes == -1 else start + num_axes
    if stop > len(bottom):
        raise ShapeError(f"{num_axes} axes from axis {axis} on are more than the bottom {list(bottom)} has")
    return bottom[start:stop]


def check_second(bottoms: Sequence[Shape], axis: int) -> None:
    """A second bottom has the lengths of the first one's axes from `axis` on; a scalar fits anywhere."""
    if len(bottoms) < 2 or not bottoms[1]:
        return
    first, second = bottoms
    start = axis_of(axis, len(first))
    if first[start : start + len(second)] != second:
        raise ShapeError(f"the second bottom {list(second)} must match the first, {list(first)}, from axis {axis} on")


def spread(blob: Tensor, x: Tensor, axis: int) -> Tensor:
    """The blob with axes of length 1 behind it, so that it broadcasts over a bottom from `axis` on."""
    if not blob.dim():
        return blob
    behind = x.dim() - axis_of(axis, x.dim()) - blob.dim()
    return blob.reshape(*blob.shape, *(1,) * behind)


def spread_onnx(g: OnnxGraph, layer: Layer, name: str, second: str, x: str, axis: int) -> str:
    """The same of a layer's blob or, if there is one, of a second bottom."""
    axes = len(g.shape(x))
    own = g.shape(second) if second else tuple(getattr(layer, name).shape)
    ones = (1,) * (axes - axis_of(axis, axes) - len(own)) if own else ()
    if not second:
        return g.blob(layer, name, own + ones)
    return reshaped(g, second, *[0] * len(own), *ones) if ones else second
