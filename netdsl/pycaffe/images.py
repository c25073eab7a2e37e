"""Images as arrays of height x width x channels: loaded, resized, cropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto.errors import FileError
from caffe_proto.extras import import_extra
from netdsl.data.sources.files import regular_file
from netdsl.data.transforms.decode import image_limit
from netdsl.data.transforms.resizing import Grid, resample
from netdsl.errors import NetError

Array = NDArray[Any]
Image = NDArray[np.float32]

_GREY = np.array([0.2125, 0.7154, 0.0721])  # how bright red, green and blue are, as scikit-image has it
_SKIMAGE_CHANNELS = (1, 3)


def load_image(filename: str | Path, color: bool = True) -> Image:
    """Load an image with values from 0 to 1: height x width x 3 in RGB, or x 1 in grey. Transparency is dropped."""
    library = _library()
    if Path(filename).exists():
        image_limit().check_file(regular_file(filename))
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
    return import_extra("PIL.Image", "data", "images need Pillow")


def _pixels(file: Any) -> Array:
    """The pixels of an image without palette, transparency or CMYK colours; modes are Pillow's."""
    mode: str = file.mode
    if mode in ("1", "LA", "La"):
        mode = "L"
    elif mode not in ("L", "F", "I") and not mode.startswith("I;16"):
        mode = "RGB"
    pixels = np.asarray(file.convert(mode))
    return pixels.astype(np.uint16) if mode == "I" and file.format == "PNG" else pixels  # a PNG has 16 bits at most


def _as_float(pixels: Array) -> Array:
    """Scale integers to 0 to 1; floats are not changed."""
    return pixels / np.iinfo(pixels.dtype).max if np.issubdtype(pixels.dtype, np.integer) else pixels


def resize_image(im: Array, new_dims: Sequence[int] | Array, interp_order: int = 1) -> Image:
    """Resize an image to a height and width, by the nearest pixel (`interp_order` 0) or linearly (1).

    As in pycaffe, images of 1 or 3 channels are resized as by skimage.transform.resize, which takes pixels as areas
    with the image's smallest value around it, and all others as by scipy.ndimage.zoom, which takes pixels as points
    with the outer ones in the corners. Unlike newer releases of scikit-image, images aren't smoothed before they are
    made smaller; unlike scipy, results for integer types aren't rounded. Splines of higher orders aren't supported.
    """
    if interp_order not in (0, 1):
        raise NetError(f"interp_order {interp_order} is not supported: use 0 (nearest) or 1 (linear)")
    grid = Grid.AREAS if im.shape[-1] in _SKIMAGE_CHANNELS else Grid.POINTS
    return resample(im, new_dims, linear=interp_order == 1, grid=grid)


def oversample(images: Sequence[Array] | Array, crop_dims: Sequence[int] | Array) -> Image:
    """Ten crops of every image: the four corners and the centre, and the same mirrored."""
    height, width = (int(size) for size in crop_dims)
    rows, columns = images[0].shape[:2]
    starts = [(top, left) for top in (0, rows - height) for left in (0, columns - width)]
    starts.append((int(rows / 2 - height / 2), int(columns / 2 - width / 2)))
    crops = [[im[top : top + height, left : left + width] for top, left in starts] for im in images]
    both = [np.concatenate([crop, np.flip(crop, 2)]) for crop in map(np.stack, crops)]
    return np.concatenate(both).astype(np.float32)
