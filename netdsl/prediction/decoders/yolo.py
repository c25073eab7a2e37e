"""YOLO: the raw grids of YOLOv2 and YOLOv3, as their last convolutions compute them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import Activation, Numbers, bounded_exp, corners, sigmoid
from netdsl.prediction.decoders.decoder import (
    DetectionDecoder,
    Detections,
    Outputs,
    PublishedInput,
    Recognized,
    Shapes,
    Size,
    require_pairs,
    require_sizes,
)

_BOX = 5  # the values of a box before its classes: x, y, width, height and objectness
_COCO_CHANNELS = 3 * (_BOX + 80)
_COCO_STRIDES = (32, 16, 8)
_ANCHORS = ((116, 90, 156, 198, 373, 326), (30, 61, 62, 45, 59, 119), (10, 13, 16, 30, 33, 23))
_TINY_ANCHORS = ((81, 82, 135, 169, 344, 319), (10, 14, 23, 27, 37, 58))
_TINY_GRIDS = ("layer16-conv", "layer23-conv")


class AnchorUnit(Enum):
    """The unit of anchors: pixels of the net's input, as in YOLOv3, or cells of the grid, as in YOLOv2."""

    PIXELS = "pixels"
    CELLS = "cells"


@dataclass(frozen=True, kw_only=True)
class Yolo(DetectionDecoder):
    """Decodes grids whose cells predict boxes relative to anchors.

    `anchors` contains a list for each grid, with the width and the height of each anchor in turn. The channels of a
    grid are x, y, width, height, objectness and the classes of the first anchor, then those of the next one. A score is
    the objectness times the probability of a class. YOLOv2's class scores have the activation softmax. `xy_scale` is
    darknet's scale_x_y for each grid, which is 1 by default.
    """

    name = "yolo"
    published: ClassVar = {"grids": ("layer82-conv", "layer94-conv", "layer106-conv")}

    anchors: tuple[tuple[float, ...], ...] = _ANCHORS
    unit: AnchorUnit = AnchorUnit.PIXELS
    activation: Activation = Activation.SIGMOID
    xy_scale: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.anchors:
            raise DecoderError("anchors is empty; give a list for each grid")
        for values in self.anchors:
            require_pairs("anchors", values)
        if self.xy_scale:
            require_sizes("xy_scale", self.xy_scale, len(self.anchors))

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        """Return the objects in an image."""
        grids = self.maps(outputs, "grids", len(self.anchors))
        parts = [self._decoded_grid(index, grid, size) for index, grid in enumerate(grids)]
        if len({scores.shape[1] for _, scores in parts}) > 1:
            raise DecoderError(
                "blobs: the grids have different numbers of classes; name the grids in the order of anchors, with "
                "the anchors of each grid"
            )
        boxes, scores = (np.concatenate(values) for values in zip(*parts, strict=True))
        return self.best_of_classes(boxes, scores)

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if the outputs have the names and shapes of YOLOv3 for COCO, as converted from darknet."""
        for names, anchors in ((cls.published["grids"], _ANCHORS), (_TINY_GRIDS, _TINY_ANCHORS)):
            grids = {
                name: (_COCO_CHANNELS, size[0] // stride, size[1] // stride)
                for name, stride in zip(names, _COCO_STRIDES, strict=False)
            }
            if dict(shapes) == grids:
                reason = f"the outputs {', '.join(names)} have the shapes of YOLOv3's grids for the 80 classes of COCO"
                decoder = cls(anchors=anchors, blobs={"grids": names})
                return Recognized(decoder, reason, PublishedInput(rgb=True, scale=1 / 255))
        return None

    def _decoded_grid(self, index: int, grid: Numbers, size: Size) -> tuple[Numbers, Numbers]:
        """Return the boxes of a grid in pixels, and their scores (boxes, classes)."""
        anchors, scale = self.anchors[index], self.xy_scale[index] if self.xy_scale else 1
        count, (channels, height, width) = len(anchors) // 2, grid.shape
        if channels % count or channels // count <= _BOX:
            raise DecoderError(
                f"blobs: a grid has {channels} channels, which isn't {count} times 5 and the number of classes; "
                "list the anchors of each grid, a width and a height for each"
            )
        cell = np.array([size[1] / width, size[0] / height])
        raw = grid.reshape(count, -1, height, width).transpose(2, 3, 0, 1)
        rows, columns = np.indices((height, width))
        corner = np.stack([columns, rows], -1)[:, :, None]
        centers = corner + sigmoid(raw[..., :2]) * scale - (scale - 1) / 2
        sides = bounded_exp(raw[..., 2:4]) * np.reshape(anchors, (count, 2))
        boxes = corners(centers * cell, sides * (cell if self.unit is AnchorUnit.CELLS else 1))
        scores = sigmoid(raw[..., 4:_BOX]) * self.activation.apply(raw[..., _BOX:], -1)
        return boxes.reshape(-1, 4), scores.reshape(-1, scores.shape[-1])
