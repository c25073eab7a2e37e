"""What YOLO's detection layers share: the boxes that are left of those that overlap."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_form import part, reshaped, transposed
from netdsl.layers._boxes import best_first, suppressed
from netdsl.layers._boxes_onnx import corners_onnx, detections_or_none, picked, suppressed_onnx
from netdsl.layers._yolo import corners


def survivors(boxes: Tensor, scores: Tensor, item: Tensor, threshold: float) -> Tensor:
    """Indices of boxes that no better one of their item overlaps; by item, and in it from best to worst.

    Caffe's rule: a box that overlaps by just the threshold goes too.
    """
    below = float(np.nextafter(np.float32(threshold), np.float32(-1)))
    order, _ = best_first(item, scores)
    return order[suppressed(corners(boxes[order]), item[order], below)]


def rows(boxes: Tensor, scores: Tensor, labels: Tensor, detected: Tensor, threshold: float) -> Tensor:
    """Item, label, score, left, top, right and bottom of every detection: (1, 1, count, 7).

    Boxes are (N, K, 4), the others (N, K). If there is no detection at all, every item has a row of -1 behind its
    number.
    """
    item = detected.nonzero()[:, 0]
    kept = survivors(boxes[detected], scores[detected], item, threshold)
    if not len(kept):
        empty = boxes.new_full((1, 1, len(boxes), 7), -1)
        empty[..., 0] = torch.arange(len(boxes), device=boxes.device)
        return empty
    columns = torch.stack(
        (item[kept].to(boxes.dtype), labels[detected][kept].to(boxes.dtype), scores[detected][kept]), 1
    )
    return torch.cat((columns, corners(boxes[detected][kept])), 1)[None, None]


def grid_onnx(g: OnnxGraph, grid: str, anchors: NDArray[np.float64], step: int = 1) -> tuple[str, str]:
    """Predictions (N, A, K, H, W) and their boxes (N, A, H, W, 4) by corners, told to an ONNX graph."""
    height, width, count = g.length(grid, 2), g.length(grid, 3), len(anchors)
    raw = reshaped(g, grid, 0, count, g.length(grid, 1) // count, height, width)
    place = g.node("Sigmoid", part(g, raw, 2, 0, 2 * step, step))
    size = g.node("Exp", part(g, raw, 2, 2 * step, 4 * step, step))
    cells = np.stack(np.broadcast_arrays(np.arange(float(width)), np.arange(float(height))[:, None]))
    lengths = np.array([width, height], np.float64).reshape(2, 1, 1)
    centres = g.node("Div", g.node("Add", place, g.constant(cells)), g.constant(lengths))
    sizes = g.node("Mul", size, g.constant(anchors.reshape(count, 2, 1, 1)))
    return raw, corners_onnx(g, *(transposed(g, each, 0, 1, 3, 4, 2) for each in (centres, sizes)))


def rows_onnx(g: OnnxGraph, boxes: str, scores: str, labels: str, least: float, threshold: float) -> str:
    """`rows` of boxes by corners whose scores are above `least`, told to an ONNX graph."""
    below = float(np.nextafter(np.float32(threshold), np.float32(-1)))
    at = suppressed_onnx(g, boxes, scores, below, limit=np.iinfo(np.int32).max, least=least)
    label, score = (g.node("Unsqueeze", picked(g, each, *at), g.constant([1])) for each in (labels, scores))
    detections = g.node("Concat", g.to_float(at[0]), label, score, picked(g, boxes, *at), axis=1)
    return detections_or_none(g, detections, scores)
