"""UltraFace: the face detectors RFB and Slim, whose priors are squares of a few sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import (
    BoxCode,
    Numbers,
    corners,
    decoded_boxes,
    grid_centers,
)
from netdsl.prediction.decoders.decoder import (
    LARGEST_SIZE,
    DetectionDecoder,
    Detections,
    Outputs,
    Recognized,
    Shapes,
    Size,
    require_count,
    require_range,
    require_sizes,
)


@dataclass(frozen=True, kw_only=True)
class UltraFace(DetectionDecoder):
    """Decodes boxes relative to squares of the sizes `min_boxes` around the cells of grids with these strides.

    The scores are probabilities: the background's and the face's.
    """

    name = "ultraface"
    published: ClassVar = {"boxes": ("boxes",), "scores": ("scores",)}

    threshold: float = 0.7
    overlap: float = 0.3
    candidates: int = 200
    names: tuple[str, ...] = ("face",)
    strides: tuple[float, ...] = (8, 16, 32, 64)
    min_boxes: tuple[tuple[float, ...], ...] = ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256))
    center_variance: float = 0.1
    size_variance: float = 0.2

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
        codes, scores = self.rows(outputs, "boxes", 4), self.rows(outputs, "scores", 2)
        require_count("strides and min_boxes", len(codes), self.count(size))
        require_count("strides and min_boxes", len(scores), self.count(size))
        variances = np.repeat([self.center_variance, self.size_variance], 2)
        boxes = decoded_boxes(BoxCode.CENTER_SIZE, codes, self.priors(size), variances) * (size[::-1] * 2)
        return self.best(boxes, scores[:, 1], np.zeros(len(boxes), np.int64))

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if the outputs have the published names and the number of boxes for the input's size."""
        decoder = cls()
        count = decoder.count(size)
        if {name: int(np.prod(shape)) for name, shape in shapes.items()} != {"boxes": 4 * count, "scores": 2 * count}:
            return None
        return Recognized(decoder, f"the outputs 'boxes' and 'scores' describe the {count} boxes of UltraFace's grids")

    def count(self, size: Size) -> int:
        """Return the number of priors for an input of this size."""
        return sum(
            height * width * len(sizes)
            for (height, width), sizes in zip(self._grids(size), self.min_boxes, strict=True)
        )

    def _grids(self, size: Size) -> list[Size]:
        return [(math.ceil(size[0] / stride), math.ceil(size[1] / stride)) for stride in self.strides]

    def priors(self, size: Size) -> Numbers:
        """Return the priors as fractions of the input. As in the published program, centers and sides are at most 1."""
        parts = list[Numbers]()
        for (height, width), stride, sizes in zip(self._grids(size), self.strides, self.min_boxes, strict=True):
            centers = np.repeat(grid_centers(height, width) * stride, len(sizes), 0)
            sides = np.tile(np.repeat(np.asarray(sizes)[:, None], 2, 1), (height * width, 1))
            parts.append(np.concatenate([centers, sides], 1) / (size[::-1] * 2))
        cut = np.clip(np.concatenate(parts), 0, 1)
        return corners(cut[:, :2], cut[:, 2:])
