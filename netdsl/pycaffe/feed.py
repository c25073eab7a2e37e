"""The arrays that a MemoryData layer takes its batches from."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.pycaffe.blob import Array, Blob


class Feed:
    """Data and labels, handed out batch by batch and then from the start again."""

    def __init__(self, settings: pb.MemoryDataParameter, data: Array, labels: Array) -> None:
        item = (settings.channels, settings.height, settings.width)
        _check("data", data, item)
        _check("labels", labels, (1, 1, 1))
        if len(data) != len(labels):
            raise ShapeError(f"there are {len(data)} items and {len(labels)} labels")
        if not len(data) or len(data) % settings.batch_size:
            raise ShapeError(f"{len(data)} items are no whole number of batches of {settings.batch_size}")
        self._data, self._labels, self._size, self._at = data, labels, settings.batch_size, 0

    def fill(self, tops: list[Blob]) -> None:
        """Put the next batch into the blobs."""
        batch = slice(self._at, self._at + self._size)
        for top, array in zip(tops, (self._data, self._labels), strict=False):
            top.data[...] = array[batch].reshape(top.shape)
        self._at = (self._at + self._size) % len(self._data)


def _check(what: str, array: Array, item: tuple[int, ...]) -> None:
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        raise NetError(f"{what} must be float32 and C-contiguous: make it so with np.ascontiguousarray(x, np.float32)")
    if array.shape[1:] != item:
        raise ShapeError(f"{what} must have shape N x {' x '.join(map(str, item))}, not {list(array.shape)}")
