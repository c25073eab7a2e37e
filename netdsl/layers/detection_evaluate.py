"""DetectionEvaluate: the comparison of SSD's detections with the true objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.files import numbered_lines
from netdsl.errors import DataError, NetError, ShapeError
from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import JudgesDetections
from netdsl.layers._boxes import best_first, overlaps
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from netdsl.scores.precision import JudgedDetections


class DetectionEvaluate(JudgesDetections):
    """Outputs rows (-1, label, objects, -1, -1) for classes, then (image, label, score, true, false) for detections.

    The bottoms are the rows of DetectionOutput and of AnnotatedData. A detection is true if the object with the largest
    overlap has its label, overlaps it enough, and has no better detection. It is neither true nor false if that object
    is difficult and doesn't count. With `name_size_file`, which lists the images in order, boxes are measured in
    pixels.
    """

    config = pb.DetectionEvaluateParameter
    bottoms = (2, 2)
    no_gradient = (0, 1)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.OBJECT)
    waits = "selects detections and objects whose number depends on the data"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = self.settings = layer.detection_evaluate_param
        if not p.num_classes:
            raise NetError("num_classes is missing; set it to the number of classes with the background")
        if p.overlap_threshold <= 0:
            raise NetError(f"overlap_threshold is {p.overlap_threshold:g}; set it to more than 0")
        if p.HasField("resize_param") and p.resize_param.resize_mode != p.resize_param.WARP:
            raise NetError(
                "resize_param is supported only with resize_mode WARP; set resize_mode: WARP, or remove resize_param"
            )
        self.images_seen = 0
        self._check_columns(bottoms)

    def _check_columns(self, bottoms: Sequence[Shape]) -> None:
        for shape, width in zip(bottoms, (7, 8), strict=True):
            if len(shape) != 4 or shape[:2] != (1, 1) or shape[3] != width:
                raise ShapeError(
                    f"the bottoms must have shapes (1, 1, rows, 7) and (1, 1, rows, 8), not {list(shape)}; connect "
                    "DetectionOutput and the marked boxes"
                )

    @property
    def classes(self) -> list[int]:
        """All labels except the background's."""
        return [label for label in range(self.settings.num_classes) if label != self.settings.background_label_id]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self._check_columns(bottoms)
        return [(1, 1, len(self.classes) + bottoms[0][2], 5)]

    def judged(self, top: NDArray[np.float64]) -> JudgedDetections:
        rows = top.reshape(-1, 5)
        heads, rows = rows[: len(self.classes)], rows[len(self.classes) :]
        objects = dict(heads[:, 1:3].astype(np.int64).tolist())
        return JudgedDetections(rows[:, 1].astype(np.int64), rows[:, 2], rows[:, 3] > 0, rows[:, 4] > 0, objects)

    def boxes(self, bottoms: Sequence[NDArray[np.float64]]) -> tuple[DetectedBoxes, ObjectBoxes]:
        detections, objects = (bottom.reshape(bottom.shape[2:]) for bottom in bottoms)
        objects = objects[(objects[:, 0] == -1).cumsum() == 0]  # as in forward
        ignored = (objects[:, 7] != 0) & (not self.settings.evaluate_difficult_gt)
        boxes = ObjectBoxes.of(np.delete(objects[:, :7], 2, 1), difficult=ignored)
        return DetectedBoxes.of(detections[(detections[:, 0] != -1) & (detections[:, 1] != -1)]), boxes

    @torch.no_grad()
    def forward(self, detections: Tensor, objects: Tensor) -> Tensor:
        p, detections, objects = self.settings, detections[0, 0], objects[0, 0]
        detections = detections[detections[:, 0] != -1]
        # Caffe's rule: the objects end at a row whose image is -1.
        objects = objects[(objects[:, 0] == -1).cumsum(0) == 0]
        if p.background_label_id >= 0 and bool(
            (torch.cat((detections[:, 1], objects[:, 1])) == p.background_label_id).any()
        ):
            raise NetError(
                f"a box has label {p.background_label_id}, which background_label_id reserves for the "
                "background; number the objects' classes from 1 on, or set another background_label_id"
            )
        counted = torch.ones_like(objects[:, 0], dtype=torch.bool) if p.evaluate_difficult_gt else objects[:, 7] == 0
        labels = torch.tensor(self.classes, device=detections.device)
        counts = (objects[counted, 1] == labels[:, None]).sum(1)
        none = torch.full_like(labels, -1)
        heads = torch.stack((none, labels, counts, none, none), 1).to(detections)
        return torch.cat((heads, self._judged(detections, objects, counted)))[None, None]

    def _judged(self, detections: Tensor, objects: Tensor, counted: Tensor) -> Tensor:
        """Return the rows of the detections, by image, label and falling score."""
        threshold = self.settings.overlap_threshold
        boxes, covered, pixel = detections[:, 3:], objects[:, 3:7], 0
        if self.sizes is not None:
            boxes, covered, pixel = (*self._in_pixels(detections[:, 0], boxes, objects[:, 0], covered), 1)
        boxes, detections = boxes[detections[:, 1] != -1], detections[detections[:, 1] != -1]
        same = (detections[:, None, :2] == objects[:, :2]).all(-1)
        most, at = F.pad(torch.where(same, overlaps(boxes[:, None], covered, pixel), -1), (0, 1), value=-1).max(1)
        # Caffe's rule: if a label has no objects, its detections keep their order.
        group = torch.unique(detections[:, :2], dim=0, return_inverse=True)[1]
        order = best_first(group, detections[:, 2] * same.any(1))[0]
        detections, most, at = detections[order], most[order], at[order]
        right = most >= threshold
        for_object = (right & F.pad(counted, (0, 1))[at]).nonzero()[:, 0]
        true, false = torch.zeros_like(most), (~right).to(most)
        order, rank = best_first(at[for_object], torch.zeros_like(most[for_object]))
        true[for_object[order]] = (rank == 0).to(most)
        false[for_object[order]] = (rank > 0).to(most)
        return torch.cat((detections[:, :3], torch.stack((true, false), 1)), 1)

    @cached_property
    def sizes(self) -> Tensor | None:
        """The height and width of each image, in reading order."""
        p = self.settings
        if not p.name_size_file:
            return None
        try:
            lines = [line.split() for _, line in numbered_lines(p.name_size_file)]
            return torch.tensor([(int(height), int(width)) for _, height, width in lines]).reshape(-1, 2)
        except (DataError, ValueError) as problem:
            raise NetError(
                f"name_size_file must have lines of 'name height width': {problem}; write a name, a height and "
                "a width in each line"
            ) from None

    def _in_pixels(self, image: Tensor, boxes: Tensor, other: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
        """Return the boxes of detections and of objects in pixels of their images."""
        assert self.sizes is not None
        images = torch.unique(image)
        sides = self.sizes.to(boxes)[:, (1, 0, 1, 0)]

        def scaled(of: Tensor, boxes: Tensor) -> Tensor:
            return (
                boxes.clamp(0, 1) * sides[(torch.searchsorted(images, of.contiguous()) + self.images_seen) % len(sides)]
            )

        result = scaled(image, boxes), scaled(other, others)
        self.images_seen = (self.images_seen + len(images)) % len(sides)
        return result
