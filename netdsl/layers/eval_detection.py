"""EvalDetection: the comparison of YOLOv2's detections with the true objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Shape
from netdsl.layer.tops import JudgesDetections
from netdsl.layers._boxes import best_first, overlaps
from netdsl.layers._matching import Objects
from netdsl.layers._yolo import boxes, corners, newest, pairs, per_anchor, survivors
from netdsl.scores.precision import JudgedDetections

_LEAST = 0.005  # darknet's rule: detections with a lower score don't count


class _Detections(NamedTuple):
    """Detections: the item, the label (from 1), the score, and the box by center and size."""

    item: Tensor
    label: Tensor
    score: Tensor
    box: Tensor


class EvalDetection(JudgesDetections):
    """Outputs for each item the number of truths per class, then class, score, right and wrong for each detection.

    Detections are sorted by class and then by score. Unused rows are 0. A detection is right if no better one is
    matched to the truth of its class that it overlaps most. It is wrong if a better one is, or if there is no truth of
    its class. It is neither if it overlaps the truth by less than `threshold`. Truths are rows of eight numbers, as in
    SSD's data layer. Without `nms`, there are no detections, as in Caffe.
    """

    config = pb.EvalDetectionParameter
    bottoms = (2, 3)
    no_gradient = (0, 1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.settings = p = layer.eval_detection_param
        if len(p.biases) != 2 * p.num_object:
            raise NetError(
                f"there must be {2 * p.num_object} biases: a width and a height for each of {p.num_object} "
                "boxes; write that many biases"
            )
        shape = (p.num_object * (5 + p.num_class), p.side, p.side)
        if bottoms[0][1:] != shape:
            raise ShapeError(
                f"the items must have shape {list(shape)}, not {list(bottoms[0][1:])}; set side, num_class and "
                "num_object as in the net that predicts"
            )
        if bottoms[1][-1] != 8:
            raise ShapeError(
                f"the truths must have rows of 8 numbers, not {bottoms[1][-1]}; connect the top `label` of a data "
                "layer for boxes"
            )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        p = self.settings
        return [(bottoms[0][0], p.num_class + p.side**2 * p.num_object * 4)]

    def judged(self, top: NDArray[np.float64]) -> JudgedDetections:
        classes = self.settings.num_class
        objects = dict(enumerate(top[:, :classes].sum(0).astype(np.int64).tolist(), 1))
        label, score, right, wrong = top[:, classes:].reshape(-1, 4).T
        return JudgedDetections(label.astype(np.int64) + 1, score, right > 0, wrong > 0, objects)

    @torch.no_grad()
    def forward(self, x: Tensor, label: Tensor, image: Tensor | None = None) -> Tensor:
        p = self.settings
        objects = Objects.of(label, len(x), -1, self.layer, difficult=True)
        classes = torch.arange(1, p.num_class + 1, device=x.device)
        counts = ((objects.labels[..., None] == classes) & objects.valid[..., None]).sum(1)
        table = x.new_zeros(len(x), p.side**2 * p.num_object, 4)
        if p.nms >= 0:
            detections = self._detections(x)
            _, rank = best_first(detections.item, torch.zeros_like(detections.score))
            right, wrong = _judged(detections, objects, p.threshold)
            columns = (detections.label - 1, detections.score, right, wrong)
            table[detections.item, rank] = torch.stack([column.to(x.dtype) for column in columns], 1)
        return torch.cat((counts.to(x.dtype), table.flatten(1)), 1)

    def _detections(self, x: Tensor) -> _Detections:
        """Return the boxes that survive non-maximum suppression, by item, then class, then falling score."""
        p = self.settings
        raw = per_anchor(x, p.num_object)
        box = boxes(raw[:, :, :2].sigmoid(), raw[:, :, 2:4], pairs(p.biases, x) / p.side).view(-1, 4)
        objectness = raw[:, :, 4].sigmoid()
        likeliest, label = raw[:, :, 5:].softmax(2).max(2)
        kinds = {p.OBJ: objectness, p.PROB: likeliest, p.MULTIPLY: objectness * likeliest}
        score, label = kinds[p.score_type].flatten(), label.flatten() + 1
        item = torch.arange(len(x), device=x.device).repeat_interleave(len(box) // len(x))
        kept = survivors(box, score, item, p.nms)
        kept = kept[score[kept] >= _LEAST]
        kept = kept[(item[kept] * (p.num_class + 1) + label[kept]).argsort(stable=True)]
        return _Detections(item[kept], label[kept], score[kept], box[kept])


def _judged(detections: _Detections, objects: Objects, threshold: float) -> tuple[Tensor, Tensor]:
    """Return whether each detection is right, and whether it is wrong."""
    places = objects.labels.shape[1]
    same = objects.valid[detections.item] & (objects.labels[detections.item] == detections.label[:, None])
    covered = torch.where(same, overlaps(corners(detections.box)[:, None], objects.boxes[detections.item]), -1)
    near = covered.amax(1) >= threshold
    truth = detections.item * places + covered.argmax(1)
    right = torch.zeros_like(near)
    # Detections are sorted, so that the first one is the best.
    right[near] = newest(truth[near].flip(0), objects.labels.numel()).flip(0)
    return right, (near & ~right) | ~same.any(1)
