"""UltraFace and RetinaFace for PyTorch: face detectors whose priors are squares of a few sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import (
    Activation,
    BoxCode,
    Numbers,
    centers_of,
    corners,
    decoded_boxes,
    grid_centers,
    sides_of,
)
from netdsl.prediction.decoders.decoder import (
    LARGEST_SIZE,
    DetectionDecoder,
    Detections,
    Outputs,
    PublishedInput,
    Recognized,
    Shapes,
    Size,
    require_count,
    require_range,
    require_sizes,
)

_POINTS = 5
# The grids of the nets that are published with landmarks: by their authors, and the small ones by others.
_WITH_LANDMARKS = (
    {"strides": (8, 16, 32), "min_boxes": ((16, 32), (64, 128), (256, 512))},
    {"strides": (8, 16, 32, 64), "min_boxes": ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256))},
)
_COLUMNS = {"boxes": 4, "scores": 2, "landmarks": 2 * _POINTS}  # of each role


@dataclass(frozen=True, kw_only=True)
class UltraFace(DetectionDecoder):
    """Decodes boxes and, if named, landmarks relative to squares around the cells of grids with these strides.

    `min_boxes` are the sizes of each grid's squares. The scores are those of the background and of the face. They must
    be probabilities after the `activation`. With `clip`, centers and sides of squares are at most the input's size.
    """

    name = "ultraface"
    published: ClassVar = {"boxes": ("boxes",), "scores": ("scores",), "landmarks": ()}

    threshold: float = 0.7
    overlap: float = 0.3
    candidates: int = 200
    names: tuple[str, ...] = ("face",)
    strides: tuple[float, ...] = (8, 16, 32, 64)
    min_boxes: tuple[tuple[float, ...], ...] = ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256))
    center_variance: float = 0.1
    size_variance: float = 0.2
    activation: Activation = Activation.NONE
    clip: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_sizes("strides", self.strides)
        for stride in self.strides:
            require_range("strides", stride, 1, LARGEST_SIZE)
        if len(self.min_boxes) != len(self.strides):
            raise DecoderError(
                f"min_boxes has {len(self.min_boxes)} lists for {len(self.strides)} strides; give one for each stride"
            )
        for sizes in self.min_boxes:
            require_sizes("min_boxes", sizes)
        require_sizes("center_variance", [self.center_variance])
        require_sizes("size_variance", [self.size_variance])

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        """Return the faces in an image."""
        roles = [role for role in self.published if self.names_of(role)]
        codes = {role: self.rows(outputs, role, _COLUMNS[role]) for role in roles}
        for rows in codes.values():
            require_count("strides and min_boxes", len(rows), self.count(size))
        scores = self.activation.apply(codes["scores"], 1)[:, 1]
        if scores.min() < 0 or scores.max() > 1:
            raise DecoderError(
                f"blob '{self.names_of('scores')[0]}': scores are from {scores.min():g} to {scores.max():g}, so they "
                "aren't probabilities; set `activation: softmax` in the field `output` of a card"
            )
        priors, scale = self.priors(size), np.asarray(size[::-1])
        variances = np.repeat([self.center_variance, self.size_variance], 2)
        boxes = decoded_boxes(BoxCode.CENTER_SIZE, codes["boxes"], priors, variances) * np.tile(scale, 2)
        points = None
        if "landmarks" in codes:
            shifts = codes["landmarks"].reshape(-1, _POINTS, 2) * self.center_variance
            points = (centers_of(priors)[:, None] + shifts * sides_of(priors)[:, None]) * scale
        return self.best(boxes, scores, np.zeros(len(boxes), np.int64), points)

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if the outputs have the published names and the number of boxes for the input's size, or are
        the three of RetinaFace for PyTorch with the number of its boxes. Converters choose the names of these."""
        decoder = cls()
        count = decoder.count(size)
        if {name: int(np.prod(shape)) for name, shape in shapes.items()} == {"boxes": 4 * count, "scores": 2 * count}:
            reason = f"the outputs 'boxes' and 'scores' describe the {count} boxes of UltraFace's grids"
            return Recognized(decoder, reason, PublishedInput(rgb=True, mean=(127,), scale=1 / 128))
        names = {shape[-1]: name for name, shape in shapes.items() if shape}
        if len(shapes) != len(_COLUMNS) or set(names) != set(_COLUMNS.values()):
            return None
        blobs = {role: names[columns] for role, columns in _COLUMNS.items()}
        for settings in _WITH_LANDMARKS:
            decoder = cls(blobs=dict(blobs), clip=False, threshold=0.6, overlap=0.4, **settings)
            count = decoder.count(size)
            if all(np.prod(shapes[blobs[role]]) == count * columns for role, columns in _COLUMNS.items()):
                reason = f"the outputs describe {count} boxes with scores and five landmarks, as RetinaFace for PyTorch"
                return Recognized(decoder, reason, PublishedInput(rgb=False, mean=(104, 117, 123), padded=True))
        return None

    def count(self, size: Size) -> int:
        """Return the number of priors for an input of this size."""
        return sum(
            height * width * len(sizes)
            for (height, width), sizes in zip(self._grids(size), self.min_boxes, strict=True)
        )

    def _grids(self, size: Size) -> list[Size]:
        return [(math.ceil(size[0] / stride), math.ceil(size[1] / stride)) for stride in self.strides]

    def priors(self, size: Size) -> Numbers:
        """Return the priors as fractions of the input."""
        parts = list[Numbers]()
        for (height, width), stride, sizes in zip(self._grids(size), self.strides, self.min_boxes, strict=True):
            centers = np.repeat(grid_centers(height, width) * stride, len(sizes), 0)
            sides = np.tile(np.repeat(np.asarray(sizes)[:, None], 2, 1), (height * width, 1))
            parts.append(np.concatenate([centers, sides], 1) / (size[::-1] * 2))
        squares = np.concatenate(parts)
        squares = np.clip(squares, 0, 1) if self.clip else squares
        return corners(squares[:, :2], squares[:, 2:])
