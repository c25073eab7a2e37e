"""The mean that is subtracted from images: an image in a file, or a value for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.errors import DataError

Pixels = NDArray[Any]  # an image after its mean is subtracted


class Mean:
    """The mean of `mean_file` or `mean_value`. A transform can have neither."""

    def __init__(self, p: pb.TransformationParameter) -> None:
        if p.mean_file and p.mean_value:
            raise DataError("transform_param has both mean_file and mean_value; remove one of them")
        self.file = p.mean_file
        self.image = _mean_in_file(p.mean_file) if p.mean_file else None
        self._values = np.array(p.mean_value, np.float32)[:, None, None]

    def of(self, shape: tuple[int, ...]) -> Pixels | None:
        """Return the mean for images of this shape, as an array of this shape. Returns `None` if there is no mean."""
        if self.image is None:
            return self.of_channels(*shape)
        if self.image.shape != shape:
            raise DataError(
                f"mean_file {self.file} is {_in_words(self.image.shape)}, but the image is {_in_words(shape)}; "
                "compute a mean for these images with `zoo data mean --like NET`"
            )
        return self.image

    def of_channels(self, channels: int, height: int, width: int) -> Pixels | None:
        """Return the values of `mean_value`, broadcast to an image of this size. Returns `None` if there are none.

        As in TSN, a frame has one channel for each value, and all frames of a stack have the same mean.
        """
        count = len(self._values)
        if not count:
            return None
        if channels % count:
            raise DataError(
                f"transform_param has {count} mean_values for {channels} channels; write one, or one for each channel"
            )
        return np.broadcast_to(np.tile(self._values, (channels // count, 1, 1)), (channels, height, width))


def _mean_in_file(path: str) -> Pixels:
    file = read(path, pb.BlobProto)
    assert isinstance(file.message, pb.BlobProto)
    values = file.blobs.array(file.message)
    if values.ndim != 4 or not len(values):
        raise DataError(
            f"{path}: the file has a blob of shape {values.shape}, but a mean image is 1 x channels x height x "
            "width; name a file that `zoo data mean` or Caffe's compute_image_mean wrote"
        )
    return np.array(values[0], np.float32)


def _in_words(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
