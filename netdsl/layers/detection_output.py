"""DetectionOutput: SSD's predictions as a list of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layers._boxes import best_first, decode, prior_boxes, suppressed


class DetectionOutput(Layer):
    """One row (image, label, score, x1, y1, x2, y2) for each detection, by image, label and falling score.

    The shape is known only when it runs; until then it is Caffe's, of one row. An image without detections has no row,
    but if none has any, each gets a row of -1. Nothing is saved or shown: `save_output_param` and `visualize` are for
    whoever takes the top.
    """

    config = pb.DetectionOutputParameter
    bottoms = (3, 4)
    no_gradient = (0, 1, 2, 3)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = self.settings = layer.detection_output_param
        if not p.num_classes:
            raise NetError("needs num_classes")
        if p.nms_param.nms_threshold < 0 or not 0 < p.nms_param.eta <= 1:
            raise NetError("nms_param: nms_threshold must not be negative, eta must be in (0, 1]")
        self.kinds = 1 if p.share_location else p.num_classes
        self.least_score = p.confidence_threshold if p.HasField("confidence_threshold") else -math.inf
        self.candidates = p.nms_param.top_k if p.nms_param.HasField("top_k") else -1
        check_predictions(bottoms, self.kinds, p.num_classes)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_predictions(bottoms, self.kinds, self.settings.num_classes)
        return [(1, 1, 1, 7)]

    @torch.no_grad()
    def forward(self, locations: Tensor, scores: Tensor, priors: Tensor, *_: Tensor) -> Tensor:
        p, images = self.settings, len(locations)
        boxes, variances = (each[:, None] for each in prior_boxes(priors))
        codes = locations.reshape(images, len(boxes), self.kinds, 4)
        boxes = decode(p.code_type, codes, boxes, None if p.variance_encoded_in_target else variances)
        scores = scores.reshape(images, -1, p.num_classes).transpose(1, 2)
        passes = scores > self.least_score
        if 0 <= p.background_label_id < p.num_classes:
            passes[:, p.background_label_id] = False
        image, label, prior = passes.nonzero(as_tuple=True)
        kept = self._kept(image, label, scores[passes], boxes[image, prior, label if self.kinds > 1 else 0])
        if not len(kept):
            kept = scores.new_full((images, 7), -1)
            kept[:, 0] = torch.arange(images, device=kept.device)
        return kept[None, None]

    def _kept(self, image: Tensor, label: Tensor, score: Tensor, boxes: Tensor) -> Tensor:
        """The rows that stay."""
        p = self.settings
        rows = torch.cat((torch.stack((image.to(score), label.to(score), score), 1), boxes), 1)
        order, rank = best_first(image * p.num_classes + label, score)
        if self.candidates >= 0:
            order = order[rank < self.candidates]
        rows, image = rows[order], image[order]
        groups = (image * p.num_classes + label[order]).contiguous()
        stay = suppressed(rows[:, 3:], groups, p.nms_param.nms_threshold, eta=p.nms_param.eta)
        rows, image = rows[stay], image[stay]
        if p.keep_top_k >= 0:
            order, rank = best_first(image, rows[:, 2])
            rows = rows[order[rank < p.keep_top_k].sort().values]
        return rows


def check_predictions(bottoms: Sequence[Shape], kinds: int, classes: int) -> None:
    """A ShapeError unless locations and scores are for as many boxes as there are priors."""
    locations, scores, priors = bottoms[:3]
    if len(priors) < 3 or math.prod(priors[1:]) % 8:
        raise ShapeError(f"priors must have shape (1, 2, 4 * boxes), as PriorBox makes them, not {list(priors)}")
    boxes = math.prod(priors[1:]) // 8
    if not locations or locations[:1] != scores[:1]:
        raise ShapeError(f"locations are for a batch of {locations[:1]}, scores for {scores[:1]}")
    for what, shape, each in (("locations", locations, 4 * kinds), ("scores", scores, classes)):
        if math.prod(shape[1:]) != boxes * each:
            wanted = f"{boxes} priors need {boxes * each} {what} per image"
            raise ShapeError(f"{wanted}, the bottom has {math.prod(shape[1:])}; do num_classes and the priors fit?")
