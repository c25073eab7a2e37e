"""Yolov3DetectionOutput: the detections of YOLOv3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, part, reduced, reshaped, scaled
from netdsl.layer.tops import MakesDetections
from netdsl.layers._constants import constants
from netdsl.layers._yolo import boxes, grid_onnx, pairs, per_anchor, rows, rows_onnx


class Yolov3DetectionOutput(HasOnnxForm, MakesDetections):
    """Outputs the boxes that survive non-maximum suppression over all classes. A box can have several classes.

    A score is the objectness times the probability of a class. Bottom i has the anchors of the i-th part of `mask` and
    cells of the i-th `anchors_scale` in pixels. With `gaussian_box`, each coordinate is followed by its uncertainty,
    which lowers the score. Caffe mixes the items of a batch; here, each has separate detections.
    """

    config = pb.Yolov3DetectionOutputParameter
    bottoms = (1, None)
    no_gradient = (0, 1, 2)
    varying_axis = 2
    waits = "outputs one row for each remaining box"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.settings = p = layer.yolov3_detection_output_param
        if not p.HasField("num_classes"):
            raise NetError("num_classes is missing; set it to the number of classes")
        if p.mask_group_num != len(bottoms) or len(p.anchors_scale) < len(bottoms):
            raise NetError(
                f"mask_group_num and the number of anchors_scale must be {len(bottoms)}, the number of bottoms; "
                "set both to it"
            )
        if len(p.mask) < len(bottoms) * p.num_box or max(p.mask) >= len(p.biases) // 2:
            raise NetError(
                f"mask must name {len(bottoms) * p.num_box} anchors that biases contain; number them from 0, in the "
                "order of the biases"
            )
        self.box_size = 8 if p.gaussian_box else 4
        channels = p.num_box * (self.box_size + 1 + p.num_classes)
        for shape in bottoms:
            if len(shape) != 4 or shape[1] != channels:
                raise ShapeError(
                    f"the bottoms must have {channels} channels, not {list(shape)}; set num_output of the layers "
                    "before it"
                )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shape for a single detection. The real number depends on the data."""
        return [(1, 1, 1, 7)]

    def label_count(self) -> int:
        return self.settings.num_classes + 1  # label 0 is the background

    @torch.no_grad()
    def forward(self, *grids: Tensor) -> Tensor:
        p = self.settings
        parts = zip(*map(self._of_grid, grids, range(len(grids))), strict=True)
        predicted, scores, labels = (torch.cat(part, 1) for part in parts)
        return rows(predicted, scores, labels, scores > p.confidence_threshold, p.nms_threshold)

    def onnx(self, g: OnnxGraph, *grids: str) -> str:
        p = self.settings
        parts = zip(*(self._of_grid_onnx(g, grid, index) for index, grid in enumerate(grids)), strict=True)
        predicted, scores, labels = (g.node("Concat", *each, axis=1) for each in parts)
        return rows_onnx(g, predicted, scores, labels, p.confidence_threshold, p.nms_threshold)

    def _of_grid_onnx(self, g: OnnxGraph, grid: str, index: int) -> tuple[str, str, str]:
        """Return boxes (batch, boxes and classes, 4), scores and labels of one bottom."""
        p, size = self.settings, self.box_size
        height, width = g.length(grid, 2), g.length(grid, 3)
        begin = index * (len(p.mask) // p.mask_group_num)
        anchors = np.reshape(p.biases, (-1, 2))[list(p.mask[begin : begin + p.num_box])]
        anchors = anchors / (np.array([width, height]) * p.anchors_scale[index])
        raw, predicted = grid_onnx(g, grid, anchors, step=size // 4)
        objectness = g.node("Sigmoid", part(g, raw, 2, size, size + 1))
        if p.gaussian_box:
            unsure = reduced(g, "ReduceMean", g.node("Sigmoid", part(g, raw, 2, 1, 8, 2)), [2])
            objectness = g.node("Mul", objectness, scaled(g, unsure, -1, 1))
        scores = g.node("Mul", g.node("Sigmoid", part(g, raw, 2, size + 1, size + 1 + p.num_classes)), objectness)
        names = np.arange(1.0, p.num_classes + 1).reshape(-1, 1, 1)
        labels = g.node("Expand", g.constant(names), g.node("Shape", scores))
        repeated = g.node("Unsqueeze", predicted, g.constant([2]))
        copies = g.constant([1, 1, p.num_classes, 1, 1, 1])
        boxes = g.node("Reshape", g.node("Expand", repeated, copies), g.constant([0, UNKNOWN, 4]))
        return boxes, reshaped(g, scores, 0, UNKNOWN), reshaped(g, labels, 0, UNKNOWN)

    def _of_grid(self, grid: Tensor, index: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return boxes, scores and labels of one bottom, once for each class."""
        p = self.settings
        raw = per_anchor(grid, p.num_box)
        begin = index * (len(p.mask) // p.mask_group_num)
        cell = p.anchors_scale[index]
        net = constants([grid.shape[3] * cell, grid.shape[2] * cell], grid)
        sizes = [p.biases[2 * anchor + side] for anchor in p.mask[begin : begin + p.num_box] for side in (0, 1)]
        anchors = pairs(sizes, grid) / net
        coordinates = raw[:, :, : self.box_size : self.box_size // 4]
        predicted = boxes(coordinates[:, :, :2].sigmoid(), coordinates[:, :, 2:], anchors)
        objectness = raw[:, :, self.box_size].sigmoid()
        if p.gaussian_box:
            objectness = objectness * (1 - raw[:, :, 1:8:2].sigmoid().mean(2))
        scores = raw[:, :, self.box_size + 1 :].sigmoid() * objectness[:, :, None]
        labels = torch.arange(1, p.num_classes + 1, device=grid.device).view(1, 1, -1, 1, 1).expand_as(scores)
        repeated = predicted[:, :, None].expand(-1, -1, p.num_classes, -1, -1, -1)
        return repeated.flatten(1, 4), scores.flatten(1), labels.flatten(1)
