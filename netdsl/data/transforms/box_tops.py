"""The forms in which nets get objects: SSD's rows for a whole batch, and YOLO's fixed number of rows for an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array
from netdsl.errors import ShapeError

COLUMNS = 7  # of an object's row: its class, its number, four edges, and whether it is difficult
EDGES, DIFFICULT = slice(2, 6), 6
_MOST_OBJECTS = 300  # of an image for YOLO


def batch_rows(items: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """The tops of a batch of images with rows: behind each other with the image's number in front, or a row of -1."""
    arrays = list(zip(*items, strict=True))
    rows = [np.insert(rows, 0, number, axis=1) for number, rows in enumerate(arrays[1])]
    top = np.concatenate(rows) if any(map(len, rows)) else np.full((1, rows[0].shape[1]), -1, np.float32)
    return _stacked(arrays[0]), top[None, None], *map(_stacked, arrays[2:])


def centred_rows(rows: Array, *, difficult: bool) -> Pixels:
    """MobileNet-YOLO's rows: a class that counts from 0, a centre, a width and a height; zeros where there is none.

    Difficult objects are left out unless they are wanted, and so are those after the first 300.
    """
    boxes = rows[(rows[:, DIFFICULT] == 0) | difficult][:_MOST_OBJECTS]
    first, last = boxes[:, 2:4], boxes[:, 4:6]
    top = np.zeros((1, _MOST_OBJECTS, 5), np.float32)
    top[0, : len(boxes)] = np.concatenate([boxes[:, :1] - 1, (first + last) / 2, last - first], axis=1)
    return top


def _stacked(images: Sequence[Array]) -> Array:
    try:
        return np.stack(images)
    except ValueError:
        raise ShapeError(
            "images of different sizes in one batch; bring them to one with resize_param, or use a batch_size of 1"
        ) from None
