"""What DetectNet's layers share: settings, boxes at the cells of a grid, and lists of boxes that are always as long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layer.running import NeedsValues, not_compiled
from netdsl.layer.user_code import ReplacesUserCode

MOST_BOXES = 50  # of one image, and of one class
FIELDS = 5  # left, top, right, bottom, and a number about the box
HIT, FALSE_ALARM, MISSED = 1.0, 2.0, 3.0  # that number, once detections are compared with objects

Boxes = npt.NDArray[np.float64]  # rows of left, top, right, bottom


def settings_of(layer: pb.LayerParameter, names: str, kinds: Sequence[Callable[[str], float]]) -> list[float]:
    """The numbers of a layer's param_str; the last may be missing and is 1 then."""
    text = layer.python_param.param_str
    words = [word for word in text.split(",") if word.strip()]
    words += ["1"] if len(words) == len(kinds) - 1 else []
    try:
        return [kind(word) for kind, word in zip(kinds, words, strict=True)]
    except ValueError:
        raise NetError(f"param_str {text!r} must be numbers with commas between them: {names}") from None


@dataclass(frozen=True)
class CellGrid:
    """An image in cells."""

    width: int
    height: int
    stride: int

    def __post_init__(self) -> None:
        if self.stride < 1 or min(self.width, self.height) < self.stride:
            raise NetError(f"an image of {self.width} x {self.height} has no cells of {self.stride} pixels")

    def boxes(self, covered: Tensor, corners: Tensor) -> Boxes:
        """The boxes of the cells that are covered, row by row; the cells say how far away their corners are."""
        columns, rows = self.width // self.stride, self.height // self.stride
        row, column = np.nonzero(covered[:rows, :columns].cpu().numpy())
        places = np.stack((column * (self.width / columns), row * (self.height / rows)) * 2, 1)
        found: Boxes = corners.cpu().double().numpy()[:, row, column].T + places
        return found


class ListsBoxes(ReplacesUserCode, NeedsValues, Layer):
    """A layer with a top for each class, lists of boxes for every image, from which cells are covered by what."""

    bottoms = (2, 2)
    tops = (1, None)
    no_gradient = (0, 1)
    grid: CellGrid
    classes: int

    def check(self, bottoms: Sequence[Shape]) -> None:
        """Raise an error unless bottoms and tops have the classes of the settings."""
        covered, corners = bottoms
        if len(self.layer.top) != self.classes:
            raise NetError(f"param_str says {self.classes} classes, and there are {len(self.layer.top)} tops")
        if len(covered) != 4 or covered[1] != self.classes:
            raise ShapeError(f"the first bottom must have 4 axes and {self.classes} channels, not {list(covered)}")
        if len(corners) != 4 or corners[1] < 4 or (corners[0], *corners[2:]) != (covered[0], *covered[2:]):
            raise ShapeError(f"the second bottom must have 4 numbers for each cell of the first, not {list(corners)}")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self.check(bottoms)
        return [(bottoms[0][0], MOST_BOXES, FIELDS)] * self.classes

    @not_compiled
    @torch.no_grad()
    def forward(self, covered: Tensor, corners: Tensor) -> tuple[Tensor, ...]:
        tops = [
            [self.listed(plane, codes[:4]) for plane, codes in zip(covered[:, label], corners, strict=True)]
            for label in range(self.classes)
        ]
        return tuple(same_length(images, covered) for images in tops)

    def listed(self, covered: Tensor, corners: Tensor) -> Sequence[Sequence[float]]:
        """The boxes of one image and class, with a number each."""
        raise NotImplementedError


def same_length(images: Iterable[Sequence[Sequence[float]]], like: Tensor) -> Tensor:
    """A table for each image, zeros behind its last box, in half precision as the fork has them."""
    tables = []
    for rows in images:
        table = torch.zeros(MOST_BOXES, FIELDS, dtype=torch.half)
        if rows:
            table[: len(rows)] = torch.tensor(rows[:MOST_BOXES], dtype=torch.double)
        tables.append(table)
    return torch.stack(tables).to(like)
