"""DetectionOutput: SSD's predictions decoded into a list of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_boxes import decode_onnx, suppressed_onnx
from netdsl.layer.onnx_form import UNKNOWN, reshaped, transposed
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import MakesDetections
from netdsl.layers._boxes import LOWEST_FALLING, best_first, decode, detections_or_none, picked, prior_boxes, suppressed
from netdsl.layers._settings import refuse

_SSD = 4  # the most bottoms of SSD's own type: locations, scores, priors and an unused one


class DetectionOutput(HasOnnxForm, MakesDetections):
    """Outputs a row (image, label, score, x1, y1, x2, y2) for each detection, by image, label and falling score.

    The number of rows is known only when the layer runs. Until then, the shape has one row, as in Caffe. An image
    without detections has no row, but if no image has any, each gets a row of -1. The layer doesn't save or show
    anything: programs that read the top use `save_output_param` and `visualize`.

    Synopsys' version has more bottoms: the scores of each feature map (batch, classes, ratios, positions), then the
    locations of each feature map as a convolution outputs them, then the priors.
    """

    config = pb.DetectionOutputParameter
    bottoms = (3, None)
    no_gradient = (0, 1, 2, 3)
    bottom_kinds = (BlobKind.BOX_CODE, BlobKind.NUMBER, BlobKind.PRIORS, BlobKind.NUMBER)
    varying_axis = 2
    waits = "outputs one row for each remaining box"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.detection_output_param, "objectness_score")
        p = self.settings = layer.detection_output_param
        if not p.num_classes:
            raise NetError("num_classes is missing; set it to the number of classes with the background")
        if p.nms_param.nms_threshold < 0 or not 0 < p.nms_param.eta <= 1:
            raise NetError(
                "nms_param is out of range; set nms_threshold to 0 or more, and eta to more than 0 and at most 1"
            )
        self.kinds = 1 if p.share_location else p.num_classes
        self.least_score = p.confidence_threshold if p.HasField("confidence_threshold") else -math.inf
        self.candidates = p.nms_param.top_k if p.nms_param.HasField("top_k") else -1
        check_predictions(_joined_shapes(bottoms), self.kinds, p.num_classes)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_predictions(_joined_shapes(bottoms), self.kinds, self.settings.num_classes)
        return [(1, 1, 1, 7)]

    def label_count(self) -> int:
        return self.settings.num_classes

    def background(self) -> int | None:
        label = self.settings.background_label_id
        return label if 0 <= label < self.settings.num_classes else None

    @torch.no_grad()
    def forward(self, *bottoms: Tensor) -> Tensor:
        locations, scores, priors = _joined(bottoms) if len(bottoms) > _SSD else bottoms[:3]
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

    def onnx(self, g: OnnxGraph, *bottoms: str) -> str:
        p = self.settings
        if p.nms_param.eta < 1 and p.nms_param.nms_threshold > LOWEST_FALLING:
            raise ConversionError(
                "can't be exported with an nms_param.eta below 1, because ONNX's NonMaxSuppression has a constant "
                "threshold; set eta to 1"
            )
        if len(bottoms) > _SSD:
            raise ConversionError(
                "can't be exported with a bottom for each feature map; export to Caffe or torch, or connect a "
                "single feature map"
            )
        locations, scores, priors = bottoms[:3]
        priors = g.node("Gather", reshaped(g, priors, 0, 2, UNKNOWN, 1, 4), g.constant(0), axis=0)
        around, variances = (g.node("Gather", priors, g.constant(each), axis=0) for each in (0, 1))
        count = math.prod(g.length(bottoms[2], axis) for axis in range(1, len(g.shape(bottoms[2])))) // 8
        codes = reshaped(g, locations, 0, count, self.kinds, 4)
        boxes = decode_onnx(g, p.code_type, codes, around, None if p.variance_encoded_in_target else variances)
        of_classes = transposed(g, reshaped(g, scores, 0, count, p.num_classes), 0, 2, 1)
        return detections_or_none(g, self._kept_onnx(g, transposed(g, boxes, 0, 2, 1, 3), of_classes, count), scores)

    def _kept_onnx(self, g: OnnxGraph, boxes: str, scores: str, count: int) -> str:
        """Write the rows of the remaining boxes in ONNX operators.

        Boxes are (batch, classes or 1, priors, 4) and scores (batch, classes, priors). Each class of each image is
        suppressed as a separate image, with its best candidates only.
        """
        p = self.settings
        labels = [label for label in range(p.num_classes) if label != p.background_label_id]
        most = count if self.candidates < 0 else min(self.candidates, count)
        scores = g.node("Gather", scores, g.constant(labels), axis=1)
        scores, prior = g.nodes("TopK", scores, g.constant([most]), outputs=2, axis=2)
        prior = reshaped(g, prior, 0, 0, most, 1)
        if self.kinds > 1:
            boxes = g.node("GatherND", g.node("Gather", boxes, g.constant(labels), axis=1), prior, batch_dims=2)
        else:
            places = reshaped(g, prior, 0, UNKNOWN, 1)
            boxes = g.node("GatherND", g.node("Squeeze", boxes, g.constant([1])), places, batch_dims=1)
        boxes = reshaped(g, boxes, UNKNOWN, most, 4)
        threshold = p.nms_param.nms_threshold
        groups = reshaped(g, scores, UNKNOWN, most)
        group, place = suppressed_onnx(g, boxes, groups, threshold, limit=most, least=self.least_score)
        nothing = g.node("Expand", g.constant(-np.inf), g.node("Shape", groups))
        at = g.node("Concat", group, place, axis=1)
        kept = g.node("ScatterND", nothing, at, g.node("GatherND", groups, at))
        kept = self._best_onnx(g, reshaped(g, kept, UNKNOWN, len(labels) * most), len(labels) * most)
        where = transposed(g, g.node("NonZero", g.node("Greater", kept, g.constant(-np.inf))), 1, 0)
        image, rank = g.nodes("Split", where, outputs=2, axis=1, num_outputs=2)
        label = g.node("Gather", g.constant(labels), g.node("Div", rank, g.constant(most)))
        box = picked(g, reshaped(g, boxes, UNKNOWN, len(labels) * most, 4), image, rank)
        score = g.node("Unsqueeze", g.node("GatherND", kept, where), g.constant([1]))
        return g.node("Concat", g.to_float(image), g.to_float(label), score, box, axis=1)

    def _best_onnx(self, g: OnnxGraph, scores: str, length: int) -> str:
        """Write the best scores of each image in ONNX operators. The other scores become -infinity."""
        if not 0 <= self.settings.keep_top_k < length:
            return scores
        best, place = g.nodes("TopK", scores, g.constant([self.settings.keep_top_k]), outputs=2, axis=1)
        nothing = g.node("Expand", g.constant(-np.inf), g.node("Shape", scores))
        return g.node("ScatterElements", nothing, place, best, axis=1)

    def _kept(self, image: Tensor, label: Tensor, score: Tensor, boxes: Tensor) -> Tensor:
        """Return the rows of the boxes that survive non-maximum suppression and `keep_top_k`."""
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


def _joined(bottoms: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the locations and scores of all feature maps in the order of the priors, by position and ratio."""
    maps = len(bottoms) // 2
    scores = [each.permute(0, 3, 2, 1).flatten(1) for each in bottoms[:maps]]
    locations = [each.permute(0, 2, 3, 1).flatten(1) for each in bottoms[maps:-1]]
    return torch.cat(locations, 1), torch.cat(scores, 1), bottoms[-1]


def _joined_shapes(bottoms: Sequence[Shape]) -> Sequence[Shape]:
    if len(bottoms) <= _SSD:
        return bottoms
    maps = len(bottoms) // 2
    if len(bottoms) % 2 == 0 or any(len(shape) != 4 for shape in bottoms[:-1]):
        raise ShapeError(
            "the bottoms must be scores and locations with 4 axes for each feature map, and then the priors; "
            "connect them in that order"
        )
    if len({shape[0] for shape in bottoms[:-1]}) > 1:
        raise ShapeError("the feature maps have different batch sizes; connect feature maps of the same images")
    values = [sum(math.prod(shape[1:]) for shape in part) for part in (bottoms[maps:-1], bottoms[:maps])]
    return [*((bottoms[0][0], count) for count in values), bottoms[-1]]


def check_predictions(bottoms: Sequence[Shape], kinds: int, classes: int) -> None:
    """Raise a `ShapeError` unless locations and scores match the number of priors."""
    locations, scores, priors = bottoms[:3]
    if len(priors) < 3 or math.prod(priors[1:]) % 8:
        raise ShapeError(
            f"priors must have shape (1, 2, 4 * boxes), as PriorBox makes them, not {list(priors)}; connect the top "
            "of PriorBox"
        )
    boxes = math.prod(priors[1:]) // 8
    if not locations or locations[:1] != scores[:1]:
        raise ShapeError(
            f"locations have batch size {locations[:1]}, but scores have {scores[:1]}; connect bottoms of one batch"
        )
    for what, shape, each in (("locations", locations, 4 * kinds), ("scores", scores, classes)):
        if math.prod(shape[1:]) != boxes * each:
            expected = f"{boxes} priors need {boxes * each} {what} per image"
            raise ShapeError(
                f"{expected}, but the bottom has {math.prod(shape[1:])}; set num_classes and the num_output of the "
                "layers before it to fit the priors"
            )
