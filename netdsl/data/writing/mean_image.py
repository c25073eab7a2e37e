"""The mean of all images, as Caffe's compute_image_mean makes it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blob
from caffe_proto.files import CaffeFile, write
from netdsl.data.batches.prefetch import made
from netdsl.data.sources.source import Source
from netdsl.errors import DataError

Mean = NDArray[np.float32]


def mean_image(source: Source, *, done: Callable[[], object] = lambda: None) -> Mean:
    """The mean of every value over all items, as channels, height, width. `done` is called for each item.

    Caffe adds float32 numbers, which goes wrong from some 65,000 images on; up to there this is the same to the bit.
    """
    total: NDArray[np.float64] | None = None
    with closing(made(source, range(len(source)), lambda _, fetched: source.item(fetched)[0])) as images:
        for number, image in enumerate(images):
            done()
            if isinstance(image, DataError):
                raise image
            if total is None:
                total = np.zeros(image.shape)
            if image.shape != total.shape or image.ndim != 3:
                raise DataError(
                    f"item {number} has shape {image.shape}, and the first {total.shape}; a mean needs images of one "
                    "size: zoo data convert --resize"
                )
            total += image.astype(np.float64)
    assert total is not None, "a source has items"
    return (total / len(source)).astype(np.float32)


def write_mean(mean: Mean, path: str | Path) -> None:
    """A .binaryproto as Caffe writes it, with the four old dimensions rather than a shape."""
    channels, height, width = mean.shape
    file = CaffeFile(pb.BlobProto(num=1, channels=channels, height=height, width=width))
    file.message.stored = file.blobs.add(Blob.of(mean))
    write(file, path)
