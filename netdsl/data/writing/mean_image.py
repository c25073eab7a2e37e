"""The mean image of a source, as computed by Caffe's compute_image_mean."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blob
from caffe_proto.files import CaffeFile, write
from netdsl.data.sources.source import Source
from netdsl.data.types import Array
from netdsl.data.writing.map_items import map_items
from netdsl.errors import DataError

MeanImage = NDArray[np.float32]


def mean_image(
    source: Source,
    *,
    done: Callable[[], object] = lambda: None,
    prepare: Callable[[Array], Array] = lambda image: image,
) -> MeanImage:
    """Return the mean of all prepared images, as channels, height, width. `done` is called for each item.

    Caffe adds float32 numbers, which is inexact for more than about 65,000 images. For fewer images, the result has the
    same bits as Caffe's.
    """
    total: NDArray[np.float64] | None = None
    with closing(map_items(source, range(len(source)), lambda _, fetched: prepare(source.item(fetched)[0]))) as images:
        for number, image in enumerate(images):
            done()
            if isinstance(image, DataError):
                raise image
            if total is None:
                total = np.zeros(image.shape)
            if image.shape != total.shape or image.ndim != 3:
                raise DataError(
                    f"item {number} has shape {image.shape}, but the first item has {total.shape}; resize them "
                    "with --resize"
                )
            total += image.astype(np.float64)
    assert total is not None, "a source has items"
    return (total / len(source)).astype(np.float32)


def write_mean(mean: MeanImage, path: str | Path) -> None:
    """Write a .binaryproto as Caffe does, with the four old dimensions in place of a shape."""
    channels, height, width = mean.shape
    file = CaffeFile(pb.BlobProto(num=1, channels=channels, height=height, width=width))
    file.message.stored = file.blobs.add(Blob.of(mean))
    write(file, path)
