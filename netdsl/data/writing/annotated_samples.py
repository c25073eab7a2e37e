"""Made-up records of SSD's databases, and the file that says what maps of classes mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto import text_of
from netdsl.data.types import Array
from netdsl.data.writing.encode import ImageFormat, encode
from netdsl.data.writing.sample_files import as_pixels

_BOX = (0.2, 0.3, 0.7, 0.8)  # left, upper, right and lower edge, as parts of an image
_CLASS, _WHITE = 1, 255
_LANES, _POINTS, _HORIZON = (0.1, 0.4, 0.9), 8, 0.7  # where lanes begin, their points, and how far up they go


def annotated_samples(images: Iterable[Array], *, white: bool) -> Iterator[tuple[bytes, bytes]]:
    """Records of images with numbers around zero, by their keys, each with an object and a map of it.

    In the map an object is as bright as its class, or `white`.
    """
    for index, image in enumerate(images):
        record = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
        pixels, key = as_pixels(image), f"{index:08}"
        classes = _map(pixels.shape[1], pixels.shape[2], _WHITE if white else _CLASS)
        record.datum.data, record.datum.encoded = encode(pixels, ImageFormat.PNG, key), True
        record.datum.seg_label = encode(classes, ImageFormat.PNG, key)
        box = record.annotation_group.add(group_label=_CLASS).annotation.add().bbox
        box.xmin, box.ymin, box.xmax, box.ymax = _BOX
        yield key.encode(), record.SerializeToString()


def lane_samples(images: Iterable[Array]) -> Iterator[tuple[bytes, bytes]]:
    """Records of images with numbers around zero, by their keys, each with lanes that meet at the horizon."""
    for index, image in enumerate(images):
        record, key = pb.AnnotatedDatum(type=pb.AnnotatedDatum.LANE), f"{index:08}"
        record.datum.data, record.datum.encoded = encode(as_pixels(image), ImageFormat.PNG, key), True
        for begin in _LANES:
            lane = record.annotation_group.add()
            for part in np.linspace(0, 1, _POINTS).tolist():
                point = lane.annotation.add().lanes
                point.x, point.y = begin + (0.5 - begin) * part, 1 - part * _HORIZON
        yield key.encode(), record.SerializeToString()


def _map(height: int, width: int, brightness: int) -> Array:
    rows, columns = ((np.arange(length) + 0.5) / length for length in (height, width))
    inside = ((rows > _BOX[1]) & (rows < _BOX[3]))[:, None] & ((columns > _BOX[0]) & (columns < _BOX[2]))
    return inside.astype(np.uint8)[None] * np.uint8(brightness)


def write_class_groups(path: Path, count: int) -> None:
    """Write a label map of class maps with so many channels, each of which stands for one class."""
    labels = pb.YoloSegLabel()
    for number in range(count + 1):
        labels.item.add(name=f"class{number}", label_id=number)
    path.write_text(text_of(labels))
