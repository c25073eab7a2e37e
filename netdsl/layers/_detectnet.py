"""The shared code of DetectNet's Python layers: settings, boxes at grid cells, box lists and rectangle groups."""

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

MOST_BOXES = 50  # for each image and class
FIELDS = 5  # left, top, right, bottom and a number that the layer defines
HIT, FALSE_ALARM, MISSED = 1.0, 2.0, 3.0  # that number after detections were compared with objects
Boxes = npt.NDArray[np.float64]  # rows of left, top, right, bottom
Rectangles = npt.NDArray[np.int64]  # rows of x, y, width, height
Counts = npt.NDArray[np.int64]
_FEW_MEMBERS = 3  # a group with fewer members is dropped inside any other group


def settings_of(layer: pb.LayerParameter, names: str, kinds: Sequence[Callable[[str], float]]) -> list[float]:
    """Return the numbers in a layer's `param_str`. The last number may be missing and is then 1."""
    text = layer.python_param.param_str
    words = [word for word in text.split(",") if word.strip()]
    words += ["1"] if len(words) == len(kinds) - 1 else []
    try:
        return [kind(word) for kind, word in zip(kinds, words, strict=True)]
    except ValueError:
        raise NetError(f"param_str {text!r} isn't a list of numbers with commas between them; write {names}") from None


@dataclass(frozen=True)
class CellGrid:
    """An image that is divided into square cells."""

    width: int
    height: int
    stride: int

    def __post_init__(self) -> None:
        if self.stride < 1 or min(self.width, self.height) < self.stride:
            raise NetError(
                f"an image of {self.width} x {self.height} pixels is smaller than a cell of {self.stride}; lower stride"
            )

    def boxes(self, covered: Tensor, corners: Tensor) -> Boxes:
        """Return the boxes of the covered cells, row by row. `corners` are relative to the cells."""
        columns, rows = self.width // self.stride, self.height // self.stride
        row, column = np.nonzero(covered[:rows, :columns].cpu().numpy())
        places = np.stack((column * (self.width / columns), row * (self.height / rows)) * 2, 1)
        found: Boxes = corners.cpu().double().numpy()[:, row, column].T + places
        return found


class ListsBoxes(ReplacesUserCode, NeedsValues, Layer):
    """A layer with one top per class, which lists the boxes of each image.

    The bottoms are maps over the cells of a grid.
    """

    bottoms = (2, 2)
    tops = (1, None)
    no_gradient = (0, 1)
    grid: CellGrid
    classes: int

    def check(self, bottoms: Sequence[Shape]) -> None:
        """Raise an error unless bottoms and tops match the number of classes in the settings."""
        covered, corners = bottoms
        if len(self.layer.top) != self.classes:
            raise NetError(
                f"param_str names {self.classes} classes, but there are {len(self.layer.top)} tops; give one top "
                "for each"
            )
        if len(covered) != 4 or covered[1] != self.classes:
            raise ShapeError(
                f"the first bottom must have 4 axes and {self.classes} channels, not {list(covered)}; connect "
                f"the layer that predicts the coverage, with num_output: {self.classes}"
            )
        if len(corners) != 4 or corners[1] < 4 or (corners[0], *corners[2:]) != (covered[0], *covered[2:]):
            raise ShapeError(
                f"the second bottom must have 4 channels for each cell of the first, not shape {list(corners)}; "
                "connect the layer that predicts the boxes, with num_output: 4"
            )

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
        return tuple(_same_length(images, covered) for images in tops)

    def listed(self, covered: Tensor, corners: Tensor) -> Sequence[Sequence[float]]:
        """Return the boxes of one image and class, each with one more number."""
        raise NotImplementedError


def _same_length(images: Iterable[Sequence[Sequence[float]]], like: Tensor) -> Tensor:
    """Return a table for each image, padded with zeros and rounded to half precision as in the fork."""
    tables = []
    for rows in images:
        table = torch.zeros(MOST_BOXES, FIELDS, dtype=torch.half)
        if rows:
            table[: len(rows)] = torch.tensor(rows[:MOST_BOXES], dtype=torch.double)
        tables.append(table)
    return torch.stack(tables).to(like)


def group_rectangles(rectangles: Rectangles, least: int, eps: float) -> tuple[Rectangles, Counts]:
    """Return the mean rectangle and the size of each group with more than `least` members.

    If `least` is 0, no rectangles are grouped.
    """
    if least <= 0 or not len(rectangles):
        return rectangles, np.ones(len(rectangles), np.int64)
    labels = _groups(_alike(rectangles, eps))
    counts = np.bincount(labels)
    sums = np.stack([np.bincount(labels, rectangles[:, side]) for side in range(4)], 1)
    means = _rounded(sums.astype(np.float32) * (np.float32(1) / counts.astype(np.float32))[:, None])
    means, counts = means[counts > least], counts[counts > least]
    stay = ~_surrounded(means, counts, eps)
    return means[stay], counts[stay]


def _rounded(values: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> Rectangles:
    rounded: Rectangles = np.rint(values).astype(np.int64)
    return rounded


def _alike(rectangles: Rectangles, eps: float) -> npt.NDArray[np.bool_]:
    """Return which pairs of rectangles are similar.

    Their sides differ by no more than a part of the smaller width and height.
    """
    x, y, width, height = rectangles.T
    least = np.minimum(width[:, None], width) + np.minimum(height[:, None], height)
    sides = np.stack((x, y, x + width, y + height))
    alike: npt.NDArray[np.bool_] = (abs(sides[:, :, None] - sides[:, None]) <= eps * least * 0.5).all(0)
    return alike


def _groups(alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the group number of each rectangle, ordered by the groups' first members.

    Groups join all chains of similar rectangles.
    """
    labels = np.full(len(alike), -1)
    for first in range(len(alike)):
        pending = np.array([first]) if labels[first] < 0 else np.array([], np.int64)
        label = labels.max() + 1
        while len(pending):
            labels[pending] = label
            pending = np.nonzero(alike[pending].any(0) & (labels < 0))[0]
    return labels


def _surrounded(means: Rectangles, counts: Counts, eps: float) -> npt.NDArray[np.bool_]:
    """Return which rectangles are inside another one that has more members, or inside any other if they have few.

    The comparison has a tolerance, which is a part of the larger rectangle's sides.
    """
    x, y, width, height = means.T
    across, down = _rounded(width * eps), _rounded(height * eps)
    inside = (x[:, None] >= x - across) & (y[:, None] >= y - down)
    inside &= (x + width)[:, None] <= x + width + across
    inside &= (y + height)[:, None] <= y + height + down
    inside &= (counts > counts[:, None]) | (counts[:, None] < _FEW_MEMBERS)
    np.fill_diagonal(inside, val=False)
    surrounded: npt.NDArray[np.bool_] = inside.any(1)
    return surrounded
