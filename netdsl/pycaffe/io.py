"""pycaffe's `io`: images, transformers, and conversions between arrays and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import shape_of
from caffe_proto.errors import FileError, import_extra
from netdsl.data.sources.files import regular_file
from netdsl.data.transforms.decode import image_limit
from netdsl.data.transforms.resizing import Grid, resample
from netdsl.errors import NetError, ShapeError
from netdsl.pycaffe.proto import caffe_pb2  # scripts use caffe.io.caffe_pb2.Datum()

Array = NDArray[Any]
Image = NDArray[np.float32]
_GRAY = np.array([0.2125, 0.7154, 0.0721])  # scikit-image's weights of red, green and blue
_SKIMAGE_CHANNELS = (1, 3)
__all__ = [
    "Transformer",
    "array_to_blobproto",
    "array_to_datum",
    "arraylist_to_blobprotovector_str",
    "blobproto_to_array",
    "blobprotovector_str_to_arraylist",
    "caffe_pb2",
    "datum_to_array",
    "load_image",
    "oversample",
    "resize_image",
]


def load_image(filename: str | Path, color: bool = True) -> Image:
    """Load an image with values from 0 to 1: height x width x 3 in RGB, or height x width x 1 in gray.

    Transparency is dropped.
    """
    library = _pillow()
    if Path(filename).exists():
        image_limit().check_file(regular_file(filename))
    try:
        with library.open(filename) as file:
            pixels = _pixels(file)
    except OSError as problem:
        raise FileError(
            f"{filename}: the image can't be read: {problem}; check the path, or convert it to PNG"
        ) from None
    image = _as_float(pixels)
    if image.ndim == 2:
        return np.repeat(image[:, :, np.newaxis], 3 if color else 1, axis=2).astype(np.float32)
    return (image if color else (image @ _GRAY)[:, :, np.newaxis]).astype(np.float32)


def _pillow() -> Any:
    return import_extra("PIL.Image", "data", "images need Pillow")


def _pixels(file: Any) -> Array:
    """Return an image's pixels, converted from palettes, transparency and CMYK."""
    mode: str = file.mode
    if mode in ("1", "LA", "La"):
        mode = "L"
    elif mode not in ("L", "F", "I") and not mode.startswith("I;16"):
        mode = "RGB"
    pixels = np.asarray(file.convert(mode))
    return pixels.astype(np.uint16) if mode == "I" and file.format == "PNG" else pixels  # PNG has 16 bits at most


def _as_float(pixels: Array) -> Array:
    """Scale integers to the range from 0 to 1. Floats are unchanged."""
    return pixels / np.iinfo(pixels.dtype).max if np.issubdtype(pixels.dtype, np.integer) else pixels


def resize_image(im: Array, new_dims: Sequence[int] | Array, interp_order: int = 1) -> Image:
    """Resize an image to a height and width, with nearest (`interp_order` 0) or linear interpolation (1).

    As in pycaffe, images with 1 or 3 channels are resized as in skimage.transform.resize: pixels are areas, and the
    surroundings have the image's smallest value. Other images are resized as in scipy.ndimage.zoom: pixels are points,
    and the outer ones are in the corners. Unlike in newer releases of scikit-image, images aren't smoothed before they
    are reduced. Unlike in scipy, results for integer types aren't rounded. Splines of higher orders aren't supported.
    """
    if interp_order not in (0, 1):
        raise NetError(f"interp_order {interp_order} isn't supported; use 0 (nearest) or 1 (linear)")
    grid = Grid.AREAS if im.shape[-1] in _SKIMAGE_CHANNELS else Grid.POINTS
    return resample(im, new_dims, linear=interp_order == 1, grid=grid)


def oversample(images: Sequence[Array] | Array, crop_dims: Sequence[int] | Array) -> Image:
    """Return ten crops of each image: the four corners and the center, and the same mirrored."""
    height, width = (int(size) for size in crop_dims)
    rows, columns = images[0].shape[:2]
    starts = [(top, left) for top in (0, rows - height) for left in (0, columns - width)]
    starts.append((int(rows / 2 - height / 2), int(columns / 2 - width / 2)))
    crops = [[im[top : top + height, left : left + width] for top, left in starts] for im in images]
    both = [np.concatenate([crop, np.flip(crop, 2)]) for crop in map(np.stack, crops)]
    return np.concatenate(both).astype(np.float32)


class Transformer:
    """Preprocesses images for inputs of a net: `Transformer({"data": net.blobs["data"].shape})`.

    Only the steps that are set are applied. Images are height x width x channels. Inputs are usually channels x height
    x width in BGR order, with values from 0 to 255.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        self.inputs = inputs
        self.transpose: dict[str, Sequence[int]] = {}
        self.channel_swap: dict[str, Sequence[int]] = {}
        self.raw_scale: dict[str, float] = {}
        self.mean: dict[str, Array] = {}
        self.input_scale: dict[str, float] = {}

    def _shape(self, in_: str) -> tuple[int, ...]:
        if in_ not in self.inputs:
            raise NetError(f"'{in_}' isn't an input; name one of {', '.join(self.inputs) or 'none'}")
        return tuple(self.inputs[in_])

    def preprocess(self, in_: str, data: Array) -> Array:
        """Return a preprocessed image.

        The steps are: resize, transpose, swap channels, apply the raw scale, subtract the mean, and apply the input
        scale.
        """
        size = self._shape(in_)[2:]
        image = data.astype(np.float32)
        if image.shape[:2] != size:
            image = resize_image(image, size)
        if in_ in self.transpose:
            image = image.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            image = image[list(self.channel_swap[in_]), :, :]
        if in_ in self.raw_scale:
            image = image * np.float32(self.raw_scale[in_])
        if in_ in self.mean:
            image = (image - self.mean[in_]).astype(np.float32)
        if in_ in self.input_scale:
            image = image * np.float32(self.input_scale[in_])
        return image

    def deprocess(self, in_: str, data: Array) -> Array:
        """Return an image with all steps but the resizing undone, in reverse order."""
        self._shape(in_)
        image = data.squeeze().astype(np.result_type(data, np.float32))
        if in_ in self.input_scale:
            image /= self.input_scale[in_]
        if in_ in self.mean:
            image += self.mean[in_]
        if in_ in self.raw_scale:
            image /= self.raw_scale[in_]
        if in_ in self.channel_swap:
            image = image[np.argsort(self.channel_swap[in_]), :, :]
        if in_ in self.transpose:
            image = image.transpose(np.argsort(self.transpose[in_]))
        return image

    def set_transpose(self, in_: str, order: Sequence[int]) -> None:
        """Set the order of the axes: (2, 0, 1) results in channels x height x width."""
        axes = len(self._shape(in_)) - 1
        if len(order) != axes:
            raise NetError(
                f"the order {tuple(order)} has {len(order)} axes, but an item of '{in_}' has {axes}; name every "
                "axis once"
            )
        self.transpose[in_] = order

    def set_channel_swap(self, in_: str, order: Sequence[int]) -> None:
        """Set the order of the channels, which are the first axis after transposing: (2, 1, 0) converts RGB to BGR."""
        channels = self._shape(in_)[1]
        if len(order) != channels:
            raise NetError(
                f"the order {tuple(order)} has {len(order)} channels, but '{in_}' has {channels}; name every "
                "channel once"
            )
        self.channel_swap[in_] = order

    def set_raw_scale(self, in_: str, scale: float) -> None:
        """Set the factor that is applied before the mean subtraction: 255 for images with values from 0 to 1."""
        self._shape(in_)
        self.raw_scale[in_] = scale

    def set_mean(self, in_: str, mean: Array) -> None:
        """Set the mean to subtract: one value for each channel, or an image of channels x height x width of any
        size."""
        shape = self._shape(in_)[1:]
        if mean.ndim == 1:
            if len(mean) != shape[0]:
                raise ArrayError(
                    f"the mean has {len(mean)} channels, but '{in_}' has {shape[0]}; pass one value for each channel"
                )
            self.mean[in_] = mean[:, np.newaxis, np.newaxis]
            return
        if mean.ndim not in (2, 3):
            raise ArrayError(
                f"the mean has {mean.ndim} axes; pass a value for each channel, or channels x height x width"
            )
        fits = (1,) * (3 - mean.ndim) + mean.shape == shape
        self.mean[in_] = mean if fits else _resized_mean(mean, shape)

    def set_input_scale(self, in_: str, scale: float) -> None:
        """Set the factor that is applied after the mean subtraction."""
        self._shape(in_)
        self.input_scale[in_] = scale


def _resized_mean(mean: Array, shape: tuple[int, ...]) -> Array:
    if mean.ndim == 2 or mean.shape[0] not in (1, shape[0]):
        raise ArrayError(
            f"a mean of shape {list(mean.shape)} doesn't fit an input of shape {list(shape)}; pass channels x "
            "height x width, or mean.mean(1).mean(1)"
        )
    return resize_image(mean.transpose(1, 2, 0), shape[1:]).transpose(2, 0, 1)


class ArrayError(ShapeError, ValueError):
    """An array's shape doesn't fit. As in pycaffe, the error is also a ValueError."""


def blobproto_to_array(blob: pb.BlobProto, return_diff: bool = False) -> Array:
    """Return the values or the gradients of a blob in its shape. A blob without a shape is a single number."""
    double, single = (blob.double_diff, blob.diff) if return_diff else (blob.double_data, blob.data)
    values, shape = np.array(double or single, np.float64), shape_of(blob)
    try:
        return values.reshape(shape)
    except ValueError:
        raise ArrayError(
            f"a blob of shape {list(shape)} doesn't match its {values.size:,} values; set its shape to that of "
            "the values"
        ) from None


def array_to_blobproto(arr: Array, diff: Array | None = None) -> pb.BlobProto:
    """Return a blob with values and, if given, gradients."""
    blob = pb.BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(arr.astype(np.float64).ravel())
    if diff is not None:
        blob.diff.extend(diff.astype(np.float64).ravel())
    return blob


def arraylist_to_blobprotovector_str(arraylist: Iterable[Array]) -> bytes:
    """Return arrays encoded as a BlobProtoVector."""
    return pb.BlobProtoVector(blobs=[array_to_blobproto(array) for array in arraylist]).SerializeToString()


def blobprotovector_str_to_arraylist(str: bytes) -> list[Array]:  # noqa: A002 - pycaffe's name
    """Return the arrays of an encoded BlobProtoVector."""
    return [blobproto_to_array(blob) for blob in pb.BlobProtoVector.FromString(str).blobs]


def array_to_datum(arr: Array, label: int | None = None) -> pb.Datum:
    """Return a datum with an image of channels x height x width, as bytes for uint8 and otherwise as floats."""
    if arr.ndim != 3:
        raise ArrayError(
            f"a datum needs an array with 3 axes (channels, height, width), not {arr.ndim}; add an axis, as with "
            "arr[np.newaxis]"
        )
    channels, height, width = arr.shape
    datum = pb.Datum(channels=channels, height=height, width=width)
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(arr.astype(np.float64).ravel())
    if label is not None:
        datum.label = label
    return datum


def datum_to_array(datum: pb.Datum) -> Array:
    """Return the image in a datum, without its label."""
    if datum.encoded:
        raise ArrayError("the datum contains an encoded image, such as a JPEG; decode its data with an image library")
    shape = (datum.channels, datum.height, datum.width)
    if datum.data:
        return np.frombuffer(datum.data, np.uint8).reshape(shape).copy()
    return np.array(datum.float_data, np.float64).reshape(shape)
