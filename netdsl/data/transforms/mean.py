"""The mean that is taken from images: an image from a file, or a value for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.errors import DataError

Values = NDArray[Any]


class Mean:
    """What `mean_file` or `mean_value` says; nothing if there is neither."""

    def __init__(self, p: pb.TransformationParameter) -> None:
        if p.mean_file and p.mean_value:
            raise DataError("transform_param has both mean_file and mean_value: take one away")
        self.file = p.mean_file
        self.image = _read(p.mean_file) if p.mean_file else None
        self._values = np.array(p.mean_value, np.float32)[:, None, None]

    def of(self, shape: tuple[int, ...]) -> Values | None:
        """The mean of images of this shape, in this shape."""
        if self.image is None:
            return self.of_channels(*shape)
        if self.image.shape != shape:
            raise DataError(
                f"mean_file {self.file} is {_text(self.image.shape)}, the image {_text(shape)}; they must agree"
            )
        return self.image

    def of_channels(self, channels: int, height: int, width: int) -> Values | None:
        """The values of channels, spread over an image of some size."""
        given = len(self._values)
        if given not in (0, 1, channels):
            raise DataError(
                f"transform_param has {given} mean_values for {channels} channels: give one, or one for each"
            )
        return np.broadcast_to(self._values, (channels, height, width)) if given else None


def _read(path: str) -> Values:
    file = read(path, pb.BlobProto)
    assert isinstance(file.message, pb.BlobProto)
    values = file.blobs.array(file.message)
    if values.ndim != 4 or not len(values):
        raise DataError(f"{path}: a blob of shape {values.shape}; a mean image is 1 x channels x height x width")
    return np.array(values[0], np.float32)


def _text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
