"""CenterFace: a face detector with a heat map of centers, and maps of their sizes, offsets and landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import Numbers, bounded_exp
from netdsl.prediction.decoders.decoder import (
    DetectionDecoder,
    Detections,
    Outputs,
    PublishedInput,
    Recognized,
    Shapes,
    Size,
)

_STRIDE = 4


@dataclass(frozen=True, kw_only=True)
class CenterFace(DetectionDecoder):
    """Decodes each pixel of the heat map as the center of a face.

    The maps of scales, offsets and landmarks contain y before x. Scales are logarithms of a box's sides in cells of the
    heat map, and landmarks are fractions of the box. If a net doesn't compute landmarks, `blobs` names none for them.
    """

    name = "centerface"
    published: ClassVar = {"heatmap": ("537",), "scale": ("538",), "offset": ("539",), "landmarks": ("540",)}

    overlap: float = 0.3
    names: tuple[str, ...] = ("face",)

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        """Return the faces in an image."""
        (heat,), (scale,), (offset,) = (self.maps(outputs, role, 1) for role in ("heatmap", "scale", "offset"))
        landmarks = self.maps(outputs, "landmarks", 1)[0] if self.names_of("landmarks") else None
        self._check_shapes(heat, scale, offset, landmarks)
        row, column = np.nonzero(heat[0] >= self.threshold)
        cell = np.array([size[0] / heat.shape[1], size[1] / heat.shape[2]])
        sides = bounded_exp(scale[:, row, column].T) * cell
        centers = (np.stack([row, column], 1) + offset[:, row, column].T + 0.5) * cell
        first = np.clip(centers - sides / 2, 0, size)
        boxes = np.concatenate([first[:, ::-1], np.minimum(first + sides, size)[:, ::-1]], 1)
        points = None
        if landmarks is not None:
            parts = landmarks[:, row, column].T.reshape(len(row), len(landmarks) // 2, 2)
            points = (parts * sides[:, None] + first[:, None])[:, :, ::-1]
        # The published program adds a pixel to the sides when it compares boxes.
        return self.best(boxes, heat[0, row, column], np.zeros(len(row), np.int64), points, pixel=1)

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if the outputs have the names and shapes of the published net with landmarks."""
        grid = size[0] // _STRIDE, size[1] // _STRIDE
        if dict(shapes) != {"537": (1, *grid), "538": (2, *grid), "539": (2, *grid), "540": (10, *grid)}:
            return None
        reason = "the net's outputs have the names and shapes of CenterFace's four maps"
        return Recognized(cls(), reason, PublishedInput(rgb=True))

    @staticmethod
    def _check_shapes(heat: Numbers, scale: Numbers, offset: Numbers, landmarks: Numbers | None) -> None:
        """Raise a `DecoderError` unless all maps have the size of the heat map and their numbers of channels."""
        expected = [("heatmap", heat, 1), ("scale", scale, 2), ("offset", offset, 2)]
        if landmarks is not None:
            expected.append(("landmarks", landmarks, max(len(landmarks) // 2, 1) * 2))
        for role, values, channels in expected:
            shape = (channels, *heat.shape[1:])
            if values.shape != shape:
                raise DecoderError(
                    f"blobs: the blob of {role} has shape {values.shape} instead of {shape}; name the blob of "
                    "this shape under `blobs` in the card"
                )
