"""Boxes in ONNX operators: their decoding and non-maximum suppression, for layers and for decoders of outputs."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.onnx_form import OnnxGraph, part

Code = pb.PriorBoxParameter.CodeType


def decode_onnx(g: OnnxGraph, code: Code, codes: str, priors: str, variances: str | None = None) -> str:
    """Return the boxes that predictions encode relative to priors. Corners and codes are on the last axis."""
    codes = codes if variances is None else g.node("Mul", codes, variances)
    first, last = _halves(g, priors)
    sides = g.node("Sub", last, first)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        shift, growth = _halves(g, codes)
        half = g.constant(0.5)
        middle = g.node("Mul", g.node("Add", first, last), half)
        centers = g.node("Add", g.node("Mul", shift, sides), middle)
        halves = g.node("Mul", g.node("Mul", g.node("Exp", growth), sides), half)
        return g.node("Concat", g.node("Sub", centers, halves), g.node("Add", centers, halves), axis=-1)
    if code == pb.PriorBoxParameter.CORNER_SIZE:
        codes = g.node("Mul", codes, g.node("Concat", sides, sides, axis=-1))
    return g.node("Add", priors, codes)


def corners_onnx(g: OnnxGraph, centers: str, sizes: str) -> str:
    """Return the corners (left, top, right, bottom) of boxes given by center and size."""
    halves = g.node("Mul", sizes, g.constant(0.5))
    return g.node("Concat", g.node("Sub", centers, halves), g.node("Add", centers, halves), axis=-1)


def suppressed_onnx(
    g: OnnxGraph, boxes: str, scores: str, threshold: float, *, limit: int, least: float = -np.inf, pixel: float = 0
) -> tuple[str, str]:
    """Return the group and the index of each box that survives non-maximum suppression, both of shape (count, 1).

    `boxes` is (groups, boxes, 4) and `scores` is (groups, boxes). The result is sorted by group and falling score. Only
    boxes whose score is above `least` are considered. `pixel` is 1 for boxes that include their last pixel.
    """
    if pixel:
        boxes = g.node("Add", boxes, g.constant([0.0, 0.0, pixel, pixel]))
    inputs = [boxes, g.node("Unsqueeze", scores, g.constant([1])), g.constant([limit])]
    inputs.append(g.node("Cast", g.constant([min(float(threshold), 1.0)]), to=1))  # an overlap can't be more than 1
    if np.isfinite(least):
        inputs.append(g.node("Cast", g.constant([float(least)]), to=1))
    chosen = g.node("NonMaxSuppression", *inputs)
    return part(g, chosen, 1, 0, 1), part(g, chosen, 1, 2, 3)


def _halves(g: OnnxGraph, boxes: str) -> tuple[str, str]:
    return part(g, boxes, -1, 0, 2), part(g, boxes, -1, 2, 4)
