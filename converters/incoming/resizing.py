"""Resizing of images as Caffe layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from converters.incoming.convolution import repeat_pixels
from converters.incoming.net import NetBlob, NetWriter
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


class PixelAlignment(Enum):
    """How the pixels of a resized image are aligned with those of the source."""

    CORNERS = "asymmetric"  # i * old / new
    MIDDLES = "half_pixel"  # (i + 0.5) * old / new - 0.5
    TORCH_MIDDLES = "pytorch_half_pixel"  # as half_pixel, but 0 if the new image has one pixel
    ENDS = "align_corners"  # i * (old - 1) / (new - 1)


def source_positions(old: int, new: int, alignment: PixelAlignment) -> AnyArray:
    """The position in the source of every new pixel along an axis."""
    index = np.arange(new)
    if alignment is PixelAlignment.ENDS:
        return index * ((old - 1) / (new - 1) if new > 1 else 0)
    if alignment is PixelAlignment.CORNERS or (alignment is PixelAlignment.TORCH_MIDDLES and new == 1):
        return index * (old / new)
    return (index + 0.5) * (old / new) - 0.5


# The source pixels that the modes of ResizeNearestNeighbor select along an axis.
_ROUNDING_MODES: dict[str | None, Callable[[int, int], AnyArray]] = {
    None: lambda old, new: np.floor(source_positions(old, new, PixelAlignment.CORNERS)),
    "half_pixel_centers": lambda old, new: np.floor(source_positions(old, new, PixelAlignment.MIDDLES) + 0.5),
    "half_pixel_onnx": lambda old, new: np.floor(source_positions(old, new, PixelAlignment.MIDDLES)),
    "align_corners": lambda old, new: np.floor(source_positions(old, new, PixelAlignment.ENDS) + 0.5),
}


def nearest(net: NetWriter, x: NetBlob, positions: Sequence[AnyArray]) -> NetBlob:
    """An image of the source's pixels at rows and columns."""
    old, size = _image(x), [len(index) for index in positions]
    indices = [np.clip(index, 0, length - 1) for index, length in zip(positions, old, strict=True)]
    times = [max(new // length, 1) for new, length in zip(size, old, strict=True)]
    if all(
        _agree(index, np.arange(length).repeat(most)) for index, length, most in zip(indices, old, times, strict=True)
    ):
        return x if {*times} == {1} else repeat_pixels(net, x, times)
    for mode, choose in _ROUNDING_MODES.items():
        if all(_agree(index, np.clip(choose(length, len(index)), 0, length - 1))
               for index, length in zip(indices, old, strict=True)):  # fmt: skip
            return net.layer(dsl.ResizeNearestNeighbor, [x], **_size_settings(size, mode))
    raise ConversionError(f"no layer selects these pixels of {list(old)} for {size}")


def _agree(a: AnyArray, b: AnyArray) -> bool:
    return len(a) == len(b) and bool(np.all(a == b))


def bilinear(net: NetWriter, x: NetBlob, size: Sequence[int], alignment: PixelAlignment) -> NetBlob:
    """Bilinear resizing, by PSPNet's Interp or Synopsys' ResizeBilinear, since BVLC Caffe has no such layer."""
    if tuple(size) == _image(x):
        return x
    if alignment is PixelAlignment.ENDS:
        return net.layer(dsl.Interp, [x], height=size[0], width=size[1])
    mode = {PixelAlignment.MIDDLES: "half_pixel_centers", PixelAlignment.TORCH_MIDDLES: "pytorch_half_pixel"}.get(
        alignment
    )
    return net.layer(dsl.ResizeBilinear, [x], **_size_settings(size, mode))


def _size_settings(size: Sequence[int], mode: str | None) -> dict[str, Any]:
    settings = {"output_height": size[0], "output_width": size[1], "data_format": "NCHW"}
    return {**settings, mode: True} if mode else settings


def _image(x: NetBlob) -> tuple[int, ...]:
    if len(x.shape) != 4:
        raise ConversionError(f"only images of 4 axes can be resized, and this has {len(x.shape)}")
    return x.shape[2:]
