"""MTCNN: a cascade of three nets that finds faces and five landmarks in an image of any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import Numbers, sides_of, suppressed
from netdsl.prediction.decoders.decoder import (
    LARGEST_LIST,
    LARGEST_SIZE,
    Detections,
    PointOrder,
    finite_blob,
    require_range,
)

BatchNet = Callable[[Numbers], Mapping[str, Numbers]]  # runs a net on a batch of any size and any height and width

_CELL, _STRIDE = 12, 2  # the receptive field and the stride of the first net
_LARGEST_IMAGE = 1 << 26  # maximum number of pixels of the largest image in the pyramid
_REFINED, _LAST = 24, 48  # height and width of the other nets' inputs
_WITHIN_SCALE, _PER_STAGE = 0.5, 0.7  # overlaps above which only the better box stays
_POINTS = 5


@dataclass(frozen=True, kw_only=True)
class Mtcnn:
    """Runs the three nets, whose published files are det1, det2 and det3.

    The published nets read images in RGB with height and width exchanged, as (x - `mean`) * `scale`. `threshold`
    contains the minimum score of each net. Faces smaller than `smallest_face` pixels aren't found. Each image of the
    pyramid is smaller than the previous one by `factor`. At most `most`
    boxes of the first net are considered.
    """

    name: ClassVar[str] = "mtcnn"
    nets: ClassVar[tuple[str, str, str]] = ("det1", "det2", "det3")

    threshold: tuple[float, float, float] = (0.6, 0.7, 0.7)
    smallest_face: float = 20
    factor: float = 0.709
    mean: float = 127.5
    scale: float = 0.0078125
    transposed: bool = True
    most: int = 2000
    scores: tuple[str, str, str] = ("prob1", "prob1", "prob1")  # the blobs of each net
    boxes: tuple[str, str, str] = ("conv4-2", "conv5-2", "conv6-2")
    landmarks: str = "conv6-3"
    order: PointOrder = PointOrder.XXYY  # of the landmarks' coordinates
    names: tuple[str, ...] = ("face",)

    def __post_init__(self) -> None:
        for least in self.threshold:
            require_range("threshold", least, 0, 1)
        require_range("smallest_face", self.smallest_face, _CELL / 4, LARGEST_SIZE)
        require_range("factor", self.factor, 0.1, 0.95)
        require_range("mean", self.mean, -LARGEST_SIZE, LARGEST_SIZE)
        require_range("scale", self.scale, 1e-6, LARGEST_SIZE)
        require_range("most", self.most, 1, LARGEST_LIST)

    @property
    def blobs(self) -> tuple[tuple[str, ...], ...]:
        """The names of the blobs that each net must compute."""
        more = (), (), (self.landmarks,)
        return tuple((*pair, *rest) for *pair, rest in zip(self.scores, self.boxes, more, strict=True))

    def detect(self, image: Numbers, nets: tuple[BatchNet, BatchNet, BatchNet]) -> Detections:
        """Return the faces in an image (height, width, RGB) with values from 0 to 255, in pixels of that image."""
        propose, refine, finish = nets
        height, width = image.shape[:2]
        if height * width * (_CELL / self.smallest_face) ** 2 > _LARGEST_IMAGE:
            raise DecoderError(
                f"smallest_face is {self.smallest_face:g}, which needs too much memory for an image of {height} "
                f"x {width}; raise smallest_face"
            )
        image = image.astype(np.float32)
        boxes, scores = self._proposals(image, propose)
        boxes, scores, outputs = self._passed(image, boxes, scores, 1, refine, _REFINED)
        if len(boxes):
            kept = self._suppressed(boxes, scores, _PER_STAGE)
            boxes = _squares(_moved(boxes[kept], outputs[self.boxes[1]][kept]))
            boxes, scores = _whole(boxes), scores[kept]
        boxes, scores, outputs = self._passed(image, boxes, scores, 2, finish, _LAST)
        if not len(boxes):
            return Detections(boxes, scores, np.empty(0, np.int64), np.empty((0, _POINTS, 2)), self.names)
        values = outputs[self.landmarks]
        if self.order is PointOrder.XXYY:
            values = values.reshape(-1, 2, _POINTS).transpose(0, 2, 1)
        parts = values.reshape(-1, _POINTS, 2)
        points = boxes[:, None, :2] + parts * sides_of(boxes)[:, None]
        boxes = _moved(boxes, outputs[self.boxes[2]])
        kept = self._suppressed(boxes, scores, _PER_STAGE, of_smaller=True)
        return Detections(boxes[kept], scores[kept], np.zeros(len(kept), np.int64), points[kept], self.names)

    def scales(self, height: int, width: int) -> Iterator[float]:
        """Yield the scales of the images in the pyramid, the largest first."""
        scale = _CELL / self.smallest_face
        while min(height, width) * scale >= _CELL:
            yield scale
            scale *= self.factor

    def _proposals(self, image: Numbers, net: BatchNet) -> tuple[Numbers, Numbers]:
        """Return the boxes that the first net proposes, as squares of whole pixels, and their scores."""
        found = [self._proposals_at(image, scale, net) for scale in self.scales(*image.shape[:2])]
        if not found:
            return np.empty((0, 4)), np.empty(0)
        boxes, codes, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        kept = self._suppressed(boxes, scores, _PER_STAGE)
        # The published program measures the first net's sides without the last pixel.
        boxes = _moved(boxes[kept], codes[kept], pixel=1)
        return _whole(_squares(boxes)), scores[kept]

    def _proposals_at(self, image: Numbers, scale: float, net: BatchNet) -> tuple[Numbers, Numbers, Numbers]:
        """Return the boxes, the codes and the scores of the cells that reach the threshold at one scale."""
        height, width = image.shape[:2]
        size = math.ceil(height * scale), math.ceil(width * scale)
        whole = np.array([[0, 0, width, height]])
        outputs = net(self._input(_crops(image, whole, size)))
        scores, codes = (finite_blob(outputs, names[0]) for names in (self.scores, self.boxes))
        if scores.shape[:2] != (1, 2) or codes.shape != (1, 4, *scores.shape[2:]) or scores.ndim != 4:
            raise DecoderError(
                f"blobs '{self.scores[0]}' and '{self.boxes[0]}': the first net computes shapes {scores.shape} "
                f"and {codes.shape} instead of (1, 2, ...) and (1, 4, ...); name the first net's outputs of "
                "these shapes as scores and boxes"
            )
        if not self.transposed:
            scores, codes = scores.swapaxes(2, 3), codes.swapaxes(2, 3)
        x, y = np.nonzero(scores[0, 1] >= self.threshold[0])
        sure, own = scores[0, 1, x, y], codes[0, :, x, y]
        first = np.stack([x, y], 1) * _STRIDE
        boxes = np.concatenate([np.fix((first + 1) / scale) - 1, np.fix((first + _CELL) / scale)], 1)
        kept = self._suppressed(boxes, sure, _WITHIN_SCALE)
        return boxes[kept], own[kept], sure[kept]

    def _passed(
        self, image: Numbers, boxes: Numbers, scores: Numbers, stage: int, net: BatchNet, side: int
    ) -> tuple[Numbers, Numbers, dict[str, Numbers]]:
        """Return the boxes that pass a later net, their scores, and the net's outputs for them."""
        sides = sides_of(boxes)
        boxes = boxes[(sides > 0).all(1)]
        if not len(boxes):
            return np.empty((0, 4)), np.empty(0), {}
        outputs = net(self._input(_crops(image, boxes, (side, side))))
        names = {self.scores[stage]: 2, self.boxes[stage]: 4} | ({self.landmarks: 2 * _POINTS} if stage == 2 else {})
        rows = {name: self._rows(outputs, name, len(boxes), columns) for name, columns in names.items()}
        sure = rows[self.scores[stage]][:, 1]
        passed = sure > self.threshold[stage]
        return boxes[passed], sure[passed], {name: values[passed] for name, values in rows.items()}

    def _input(self, crops: Numbers) -> Numbers:
        """Return a batch for a net from crops (count, height, width, channels)."""
        order = (0, 3, 2, 1) if self.transposed else (0, 3, 1, 2)
        return np.ascontiguousarray(((crops - self.mean) * self.scale).transpose(order), np.float32)

    def _suppressed(self, boxes: Numbers, scores: Numbers, overlap: float, *, of_smaller: bool = False) -> Numbers:
        labels = np.zeros(len(boxes), np.int64)
        return suppressed(boxes, scores, labels, overlap, candidates=self.most, of_smaller=of_smaller)

    def _rows(self, outputs: Mapping[str, Numbers], name: str, count: int, columns: int) -> Numbers:
        values = finite_blob(outputs, name)
        if values.size != count * columns:
            raise DecoderError(
                f"blob '{name}': its shape is {values.shape} for {count} images instead of ({count}, "
                f"{columns}); name the output of this shape in the card"
            )
        return values.reshape(count, columns)


def _moved(boxes: Numbers, codes: Numbers, pixel: float = 0) -> Numbers:
    """Return boxes whose corners are moved by fractions of their sides. `pixel` is subtracted from the sides."""
    return np.asarray(boxes + codes * np.tile(sides_of(boxes) - pixel, 2))


def _squares(boxes: Numbers) -> Numbers:
    """Return squares with the centers and the longer sides of boxes."""
    sides = sides_of(boxes)
    longest = sides.max(1, keepdims=True)
    first = boxes[:, :2] + (sides - longest) / 2
    return np.concatenate([first, first + longest], 1)


def _whole(boxes: Numbers) -> Numbers:
    """Return boxes of whole pixels.

    The published program counts pixels from 1 and drops the fractions of both corners.
    """
    return np.concatenate([np.fix(boxes[:, :2] + 1) - 1, np.fix(boxes[:, 2:])], 1)


def _crops(image: Numbers, boxes: Numbers, size: tuple[int, int]) -> Numbers:
    """Return the parts of an image in boxes of whole pixels, resized bilinearly, as (boxes, height, width, channels).

    Pixels outside the image are black. As in OpenCV, the interpolation ends at a box's border.
    """
    down, right = _samples(boxes[:, 1::2], size[0]), _samples(boxes[:, ::2], size[1])
    result = np.zeros((len(boxes), *size, image.shape[2]), np.float32)
    height, width = image.shape[:2]
    for row, row_weight in down:
        row_weight = row_weight * ((row >= 0) & (row < height))
        for column, column_weight in right:
            weight = row_weight[:, :, None] * (column_weight * ((column >= 0) & (column < width)))[:, None]
            values = image[np.clip(row, 0, height - 1)[:, :, None], np.clip(column, 0, width - 1)[:, None]]
            result += values * weight[..., None].astype(np.float32)
    return result


def _samples(spans: Numbers, length: int) -> list[tuple[Numbers, Numbers]]:
    """Return the two neighbors of each of `length` samples in spans (first, end), and their weights."""
    first, end = spans.astype(np.int64).T[..., None]
    place = (np.arange(length) + 0.5) * (end - first) / length - 0.5
    before = np.floor(place).astype(np.int64)
    after = place - before
    sides = (before, 1 - after), (before + 1, after)
    return [(first + np.clip(index, 0, end - first - 1), weight) for index, weight in sides]
