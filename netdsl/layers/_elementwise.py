"""The shared code of elementwise layers: with a number, with another blob, or with a blob along some axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, Layer, OnnxGraph, Shape, axis_of
from netdsl.layer.deploying import NewLayer
from netdsl.layer.onnx_form import reshaped

_LARGEST = torch.finfo(torch.float32).max


class Elementwise(HasOnnxForm):
    """A layer whose top has the shape of its first bottom and which can work in place."""

    in_place = True
    any_layout = True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [bottoms[0]]


def affine(x: Tensor, scale: float, shift: float) -> Tensor:
    """Return scale * x + shift without the steps that change nothing."""
    scaled = x * scale if scale != 1 else x.view_as(x)
    return scaled + shift if shift else scaled


def log_of_base(base: float) -> float:
    """Return the natural logarithm of a base. In Caffe, a base of -1 means e."""
    if base == -1:
        return 1.0
    if base <= 0:
        raise NetError(f"base is {base:g}; set it to a positive number, or to -1 for e")
    return math.log(base)


def clamping_layers(layer: pb.LayerParameter, low: float, high: float) -> list[NewLayer]:
    """Return layers of Caffe's first release that clamp a layer's bottom between two bounds: max(x, low) is
    relu(x - low) + low, and min(x, high) is high - relu(high - x). A bound that no value exceeds is left out."""
    steps = list[tuple[str, dict[str, Any]]]()
    shift = 0.0  # what the next Power layer has to add
    if low > -_LARGEST:
        steps += [*([_power(1, -low)] if low else []), ("ReLU", {})]
        shift = low
    if high < _LARGEST:
        steps += [_power(-1, high - shift), ("ReLU", {}), _power(-1, high)]
    elif shift or not steps:
        steps.append(_power(1, shift))
    return _chained(layer, steps)


def _chained(layer: pb.LayerParameter, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> list[NewLayer]:
    """Return layers of types with settings, which work one after the other in place of a layer, in its top."""
    layers = list[NewLayer]()
    for number, (kind, settings) in enumerate(steps):
        bottom = layer.top if layers else layer.bottom
        made = pb.LayerParameter(name=f"{layer.name}/{number}", type=kind, bottom=bottom, top=layer.top, **settings)
        layers.append((made, []))
    return layers


def _power(scale: float, shift: float) -> tuple[str, dict[str, Any]]:
    return "Power", {"power_param": {"scale": scale, "shift": shift}}


def check_pair(bottoms: Sequence[Shape]) -> None:
    """Raise a `ShapeError` unless two shapes broadcast: from the last axis on, lengths are equal or one of them is
    1."""
    a, b = bottoms
    if any(x != y and 1 not in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False)):
        raise ShapeError(
            f"shapes {list(a)} and {list(b)} don't match, because each axis must have equal lengths or a length "
            "of 1; change one of them with a Reshape layer"
        )


def span(bottom: Shape, axis: int, num_axes: int) -> Shape:
    """Return the shape of a learned blob: `num_axes` axes of the bottom from `axis` on, or all of them for -1."""
    if num_axes < -1:
        raise NetError(f"num_axes is {num_axes}; set it to 0 or more, or to -1 for all axes from axis {axis} on")
    start = axis_of(axis, len(bottom))
    stop = len(bottom) if num_axes == -1 else start + num_axes
    if stop > len(bottom):
        raise ShapeError(f"the bottom {list(bottom)} doesn't have {num_axes} axes from axis {axis} on; lower num_axes")
    return bottom[start:stop]


def check_second(bottoms: Sequence[Shape], axis: int) -> None:
    """Raise a `ShapeError` unless a second bottom matches the first one's axes from `axis` on. A scalar always
    matches."""
    if len(bottoms) < 2 or not bottoms[1]:
        return
    first, second = bottoms
    start = axis_of(axis, len(first))
    if first[start : start + len(second)] != second:
        raise ShapeError(
            f"the second bottom {list(second)} must match the first, {list(first)}, from axis {axis} on; set "
            "axis and num_axes so that they match, or change the shape with a Reshape layer"
        )


def spread(blob: Tensor, x: Tensor, axis: int) -> Tensor:
    """Return the blob with trailing axes of length 1, so that it broadcasts over a bottom from `axis` on."""
    if not blob.dim():
        return blob
    behind = x.dim() - axis_of(axis, x.dim()) - blob.dim()
    return blob.reshape(*blob.shape, *(1,) * behind)


def spread_onnx(g: OnnxGraph, layer: Layer, name: str, second: str, x: str, axis: int) -> str:
    """Return a layer's blob, or else its second bottom, with trailing axes of length 1 in an ONNX graph."""
    axes = len(g.shape(x))
    own = g.shape(second) if second else tuple(getattr(layer, name).shape)
    ones = (1,) * (axes - axis_of(axis, axes) - len(own)) if own else ()
    if not second:
        return g.blob(layer, name, own + ones)
    return reshaped(g, second, *[0] * len(own), *ones) if ones else second
