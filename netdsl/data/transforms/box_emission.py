"""SSD's `emit_constraint`: which objects a part of an image still shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Box, Boxes, coverages


class Emission:
    """The rule by which objects stay when a window is cut out of their image.

    It is that their centre lies in the window, or that a part of them larger than `emit_overlap` does. Without a rule
    all stay.
    """

    def __init__(self, p: pb.TransformationParameter) -> None:
        self._rule = p.emit_constraint if p.HasField("emit_constraint") else None

    def __call__(self, boxes: Boxes, window: Box) -> NDArray[Any]:
        """Which boxes stay."""
        if self._rule is None:
            return np.ones(len(boxes), np.bool_)
        if self._rule.emit_type == pb.EmitConstraint.MIN_OVERLAP:
            return coverages(boxes, window[None])[:, 0] > np.float32(self._rule.emit_overlap)
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        inside = (centres >= window[:2]) & (centres <= window[2:])
        return inside[:, 0] & inside[:, 1]
