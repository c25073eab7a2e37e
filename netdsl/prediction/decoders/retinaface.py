"""RetinaFace: insightface's face detector with five landmarks, such as mnet.25."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import (
    BoxCode,
    Numbers,
    boxes_on_grid,
    centers_of,
    decoded_boxes,
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
    require_range,
    require_sizes,
)

_STRIDES = (32, 16, 8)
_POINTS = 5


@dataclass(frozen=True, kw_only=True)
class RetinaFace(DetectionDecoder):
    """Decodes the heads of several feature maps: scores, box codes and, if named, landmarks.

    The first anchors of a map have the center of a square of `base_size` pixels in the image's corner. Their sizes are
    this square's in each of the `ratios` of height to width, times each of the map's `scales`. Neighboring anchors are
    a stride apart. A blob of
    scores contains the probabilities of the background for each anchor, then those of a face. Box codes are multiplied
    by `box_scale` and landmarks by `landmark_scale`, which is 0.2 for some later models.
    """

    name = "retinaface"
    published: ClassVar = {
        "scores": tuple(f"face_rpn_cls_prob_reshape_stride{stride}" for stride in _STRIDES),
        "boxes": tuple(f"face_rpn_bbox_pred_stride{stride}" for stride in _STRIDES),
        "landmarks": tuple(f"face_rpn_landmark_pred_stride{stride}" for stride in _STRIDES),
    }

    overlap: float = 0.4
    names: tuple[str, ...] = ("face",)
    strides: tuple[int, ...] = _STRIDES
    scales: tuple[tuple[float, ...], ...] = ((32, 16), (8, 4), (2, 1))
    base_size: int = 16
    ratios: tuple[float, ...] = (1,)
    box_scale: float = 1
    landmark_scale: float = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_sizes("strides", self.strides)
        require_sizes("ratios", self.ratios)
        require_range("base_size", self.base_size, 1, LARGEST_SIZE)
        if len(self.scales) != len(self.strides):
            raise DecoderError(
                f"scales has {len(self.scales)} lists for {len(self.strides)} strides; give one for each stride"
            )
        for scales in self.scales:
            require_sizes("scales", scales)
        for setting in ("box_scale", "landmark_scale"):
            require_sizes(setting, [getattr(self, setting)])

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        """Return the faces in an image."""
        maps = len(self.strides)
        scores, codes = self.maps(outputs, "scores", maps), self.maps(outputs, "boxes", maps)
        landmarks = self.maps(outputs, "landmarks", maps) if self.names_of("landmarks") else []
        boxes, sure, points = list[Numbers](), list[Numbers](), list[Numbers]()
        for index in range(maps):
            sides = self._sides(index)
            height, width = self._checked_map("scores", scores[index], 2 * len(sides))
            anchors = self.anchors(index, height, width)
            sure.append(_per_anchor(scores[index][len(sides) :], len(sides)).ravel())
            self._checked_map("boxes", codes[index], 4 * len(sides), (height, width))
            own = _per_anchor(codes[index], len(sides))
            boxes.append(decoded_boxes(BoxCode.CENTER_SIZE, own, anchors, self.box_scale))
            if landmarks:
                self._checked_map("landmarks", landmarks[index], 2 * _POINTS * len(sides), (height, width))
                own = _per_anchor(landmarks[index], len(sides)).reshape(-1, _POINTS, 2) * self.landmark_scale
                points.append(centers_of(anchors)[:, None] + own * sides_of(anchors)[:, None])
        every = np.concatenate(boxes)
        return self.best(
            np.clip(every, 0, size[::-1] * 2),
            np.concatenate(sure),
            np.zeros(len(every), np.int64),
            np.concatenate(points) if points else None,
        )

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if all nine outputs have the published names and the shapes of two anchors."""
        expected = {
            f"face_rpn_{head}_stride{stride}": (channels, -(-size[0] // stride), -(-size[1] // stride))
            for stride in _STRIDES
            for head, channels in (("cls_prob_reshape", 4), ("bbox_pred", 8), ("landmark_pred", 20))
        }
        if any(shapes.get(name) != shape for name, shape in expected.items()):
            return None
        reason = "the net's outputs have the names and shapes of RetinaFace's heads"
        return Recognized(cls(), reason, PublishedInput(rgb=True, padded=True))

    def anchors(self, index: int, height: int, width: int) -> Numbers:
        """Return the anchors of a map in pixels, by position."""
        stride = self.strides[index]
        return boxes_on_grid(height, width, (stride, stride), self._sides(index)) + (self.base_size - stride) / 2

    def _sides(self, index: int) -> Numbers:
        """Return the width and height of a map's anchors, which are rounded before they are scaled."""
        widths = np.floor(np.sqrt(self.base_size**2 / np.asarray(self.ratios, np.float64)) + 0.5)
        heights = np.floor(widths * self.ratios + 0.5)
        base = np.stack([widths, heights], 1)
        return np.asarray((base[:, None] * np.asarray(self.scales[index])[:, None]).reshape(-1, 2))

    def _checked_map(self, role: str, values: Numbers, channels: int, size: Size | None = None) -> Size:
        """Return the height and width of a map, which must have these channels and, if given, this size."""
        height, width = values.shape[1:]
        if len(values) != channels or size not in (None, (height, width)):
            expected = f"{channels} channels" + (f" of {size[0]} x {size[1]}" if size else "")
            raise DecoderError(
                f"blobs: a blob of {role} has shape {values.shape} instead of {expected}; set scales and ratios "
                "as in training, or name the blobs in the order of strides"
            )
        return height, width


def _per_anchor(values: Numbers, anchors: int) -> Numbers:
    """Return the values of a map as rows, by position and then by anchor."""
    return values.reshape(anchors, len(values) // anchors, -1).transpose(2, 0, 1).reshape(-1, len(values) // anchors)
