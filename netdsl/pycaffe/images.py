"""Images as arrays of height x width x channels: loaded, resized, cropped."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.errors import NetError

Array = NDArray[Any]
Image = NDArray[np.float32]

_GREY = np.array([0.2125, 0.7154, 0.0721])  # how bright red, green and blue are, as scikit-image has it
_SKIMAGE_CHANNELS = (1, 3)


def load_image(filename: str | Path, color: bool = True) -> Image:
    """An image with values from 0 to 1: height x width x 3 in RGB, or x 1 if it is to be grey. Transparency is lost."""
    library = _library()
    try:
        with library.open(filename) as file:
            pixels = _pixels(file)
    except OSError as problem:
        raise FileError(f"{filename}: can't be read as an image: {problem}") from None
    image = _as_float(pixels)
    if image.ndim == 2:
        return np.repeat(image[:, :, np.newaxis], 3 if color else 1, axis=2).astype(np.float32)
    return (image if color else (image @ _GREY)[:, :, np.newaxis]).astype(np.float32)


def _library() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise MissingExtraError("images need Pillow: pip install 'netdsl[data]'") from None


def _pixels(file: Any) -> Array:
    """The values of an image without palette, transparency and printers' colours; modes are Pillow's words."""
    mode: str = file.mode
    if mode in ("1", "LA", "La"):
        mode = "L"
    elif mode not in ("L", "F", "I") and not mode.startswith("I;16"):
        mode = "RGB"
    pixels = np.asarray(file.convert(mode))
    return pixels.astype(np.uint16) if mode == "I" and file.format == "PNG" else pixels  # a PNG has 16 bits at most


def _as_float(pixels: Array) -> Array:
    """Values from 0 to 1; what is float already stays as it is."""
    return pixels / np.iinfo(pixels.dtype).max if np.issubdtype(pixels.dtype, np.integer) else pixels


def resize_image(im: Array, new_dims: Sequence[int] | Array, interp_order: int = 1) -> Image:
    """An image of another height and width, by the nearest pixel (`interp_order` 0) or the four around it (1).

    pycaffe gives images of 1 or 3 channels to skimage.transform.resize and all others to scipy.ndimage.zoom, which
    put pixels in different places: as areas whose borders meet, with the smallest value of the image beyond them, or
    as points of which the outer ones stay in the corners. So does this. It differs from newer releases of
    scikit-image, which smooth an image before they make it smaller, and from scipy where the image is of an integer
    type, which scipy rounds the result to. Higher orders, which are splines, are not there.
    """
    if interp_order not in (0, 1):
        raise NetError(f"interp_order {interp_order} is not there: it is 0 (nearest) or 1 (linear)")
    as_areas = im.shape[-1] in _SKIMAGE_CHANNELS
    values = im.astype(np.float64)
    for axis, size in enumerate(new_dims):
        places = _areas(values.shape[axis], int(size)) if as_areas else _points(values.shape[axis], int(size))
        values = _sampled(values, axis, places, im.min(), linear=interp_order == 1)
    return values.astype(np.float32)


def _areas(old: int, new: int) -> Array:
    return (np.arange(new) + 0.5) * (old / new) - 0.5


def _points(old: int, new: int) -> Array:
    return np.linspace(0, old - 1, new)


def _sampled(values: Array, axis: int, places: Array, outside: float, *, linear: bool) -> Array:
    """Values at places between pixels, or outside."""
    if not linear:
        return values.take(np.floor(places + 0.5).astype(int), axis)
    border = [(1, 1) if each == axis else (0, 0) for each in range(values.ndim)]
    padded = np.pad(values, border, constant_values=outside)
    before = np.floor(places).astype(int)
    share = (places - before).reshape(-1, *[1] * (values.ndim - axis - 1))
    between: Array = padded.take(before + 1, axis) * (1 - share) + padded.take(before + 2, axis) * share
    return between


def oversample(images: Sequence[Array] | Array, crop_dims: Sequence[int] | Array) -> Image:
    """Ten crops of every image: the four corners and the centre, then the same mirrored."""
    height, width = (int(size) for size in crop_dims)
    rows, columns = images[0].shape[:2]
    starts = [(top, left) for top in (0, rows - height) for left in (0, columns - width)]
    starts.append((int(rows / 2 - height / 2), int(columns / 2 - width / 2)))
    crops = [[im[top : top + height, left : left + width] for top, left in starts] for im in images]
    both = [np.concatenate([crop, np.flip(crop, 2)]) for crop in map(np.stack, crops)]
    return np.concatenate(both).astype(np.float32)
