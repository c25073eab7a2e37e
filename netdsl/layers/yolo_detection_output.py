"""YoloDetectionOutput: the detections of YOLOv2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, part, reduced, reshaped
from netdsl.layer.tops import MakesDetections
from netdsl.layers._yolo import boxes, grid_onnx, pairs, per_anchor, rows, rows_onnx


class YoloDetectionOutput(HasOnnxForm, MakesDetections):
    """Outputs the boxes that survive non-maximum suppression over all classes, each with its likeliest class.

    A box's score is its objectness times the probability of its class. All bottoms are grids with the same anchors.
    Caffe mixes the items of a batch; here, each has separate detections.
    """

    config = pb.YoloDetectionOutputParameter
    bottoms = (1, 2)
    no_gradient = (0, 1)
    varying_axis = 2
    waits = "outputs one row for each remaining box"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.settings = p = layer.yolo_detection_output_param
        if not p.HasField("num_classes"):
            raise NetError("num_classes is missing; set it to the number of classes")
        if len(p.biases) != 2 * p.num_box:
            raise NetError(
                f"there must be {2 * p.num_box} biases: a width and a height for each of {p.num_box} boxes; "
                "write that many biases"
            )
        channels = p.num_box * (5 + p.num_classes)
        for shape in bottoms:
            if len(shape) != 4 or shape[1] != channels or shape[2] != shape[3]:
                raise ShapeError(
                    f"the bottoms must be square with {channels} channels, not {list(shape)}; set num_output of the "
                    "layer before it"
                )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shape for a single detection. The real number depends on the data."""
        return [(1, 1, 1, 7)]

    def label_count(self) -> int:
        return self.settings.num_classes + 1  # label 0 is the background

    @torch.no_grad()
    def forward(self, *grids: Tensor) -> Tensor:
        p = self.settings
        predicted, scores, labels = (torch.cat(parts, 1) for parts in zip(*map(self._of_grid, grids), strict=True))
        return rows(predicted, scores, labels, scores >= p.confidence_threshold, p.nms_threshold)

    def onnx(self, g: OnnxGraph, *grids: str) -> str:
        p = self.settings
        parts = zip(*(self._of_grid_onnx(g, grid) for grid in grids), strict=True)
        predicted, scores, labels = (g.node("Concat", *each, axis=1) for each in parts)
        least = float(np.nextafter(np.float32(p.confidence_threshold), np.float32(-1)))
        return rows_onnx(g, predicted, scores, labels, least, p.nms_threshold)

    def _of_grid_onnx(self, g: OnnxGraph, grid: str) -> tuple[str, str, str]:
        p = self.settings
        raw, predicted = grid_onnx(g, grid, np.reshape(p.biases, (-1, 2)) / g.length(grid, 3))
        likelihoods = g.node("Softmax", part(g, raw, 2, 5, g.length(grid, 1) // p.num_box), axis=2)
        label = g.node("ArgMax", likelihoods, axis=2, keepdims=0)
        objectness = g.node("Sigmoid", g.node("Gather", raw, g.constant(4), axis=2))
        score = g.node("Mul", reduced(g, "ReduceMax", likelihoods, [2], keep=False), objectness)
        label = g.to_float(g.node("Add", label, g.constant(1)))
        return reshaped(g, predicted, 0, UNKNOWN, 4), reshaped(g, score, 0, UNKNOWN), reshaped(g, label, 0, UNKNOWN)

    def _of_grid(self, grid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        raw = per_anchor(grid, self.settings.num_box)
        predicted = boxes(raw[:, :, :2].sigmoid(), raw[:, :, 2:4], pairs(self.settings.biases, grid) / grid.shape[3])
        likeliest, label = raw[:, :, 5:].softmax(2).max(2)
        score = likeliest * raw[:, :, 4].sigmoid()
        return predicted.flatten(1, 3), score.flatten(1), label.flatten(1) + 1
