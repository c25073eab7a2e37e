"""Boxes in ONNX's operators: what predictions mean, and non-maximum suppression."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_form import UNKNOWN, part, reshaped
from netdsl.layers._boxes import Code


def decode_onnx(g: OnnxGraph, code: Code, codes: str, priors: str, variances: str | None = None) -> str:
    """The boxes that predictions mean, relative to priors; all have the corners or codes on their last axis."""
    codes = codes if variances is None else g.node("Mul", codes, variances)
    first, last = _halves(g, priors)
    sides = g.node("Sub", last, first)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        shift, growth = _halves(g, codes)
        half = g.constant(0.5)
        middle = g.node("Mul", g.node("Add", first, last), half)
        centres = g.node("Add", g.node("Mul", shift, sides), middle)
        halves = g.node("Mul", g.node("Mul", g.node("Exp", growth), sides), half)
        return g.node("Concat", g.node("Sub", centres, halves), g.node("Add", centres, halves), axis=-1)
    if code == pb.PriorBoxParameter.CORNER_SIZE:
        codes = g.node("Mul", codes, g.node("Concat", sides, sides, axis=-1))
    return g.node("Add", priors, codes)


def corners_onnx(g: OnnxGraph, centres: str, sizes: str) -> str:
    """Boxes by centre and size as left, top, right and bottom."""
    halves = g.node("Mul", sizes, g.constant(0.5))
    return g.node("Concat", g.node("Sub", centres, halves), g.node("Add", centres, halves), axis=-1)


def suppressed_onnx(
    g: OnnxGraph, boxes: str, scores: str, threshold: float, *, limit: int, least: float = -np.inf, pixel: float = 0
) -> tuple[str, str]:
    """Of (groups, boxes, 4) and (groups, boxes) those that overlap with no better one of their group that stays.

    What comes back are group and index of each, both (count, 1), by group and falling score. Only boxes whose score is
    above `least` count. Boxes that count pixels include their last: 1.
    """
    if pixel:
        boxes = g.node("Add", boxes, g.constant([0.0, 0.0, pixel, pixel]))
    inputs = [boxes, g.node("Unsqueeze", scores, g.constant([1])), g.constant([limit])]
    inputs.append(g.node("Cast", g.constant([min(float(threshold), 1.0)]), to=1))  # no boxes overlap by more
    if np.isfinite(least):
        inputs.append(g.node("Cast", g.constant([float(least)]), to=1))
    chosen = g.node("NonMaxSuppression", *inputs)
    return part(g, chosen, 1, 0, 1), part(g, chosen, 1, 2, 3)


def picked(g: OnnxGraph, values: str, group: str, index: str) -> str:
    """The entries of (groups, places, ...) at some groups and places."""
    return g.node("GatherND", values, g.node("Concat", group, index, axis=1))


def detections_or_none(g: OnnxGraph, rows: str, like: str) -> str:
    """Rows (count, 7) as a blob of four axes. Caffe's rule: if there are none, every item has a row of -1."""
    items = g.node("Squeeze", g.node("Shape", like, start=0, end=1), g.constant([0]))
    numbers = reshaped(g, g.to_float(g.node("Range", g.constant(0), items, g.constant(1))), UNKNOWN, 1)
    empty = g.node("Concat", numbers, g.node("Expand", g.constant(-1.0), _six(g, like)), axis=1)
    none = g.node("Equal", g.node("Shape", rows, start=0, end=1), g.constant([0]))
    shown = g.node("Compress", empty, g.node("Expand", none, g.node("Shape", like, start=0, end=1)), axis=0)
    return g.node("Unsqueeze", g.node("Concat", rows, shown, axis=0), g.constant([0, 1]))


def _six(g: OnnxGraph, like: str) -> str:
    return g.node("Concat", g.node("Shape", like, start=0, end=1), g.constant([6]), axis=0)


def _halves(g: OnnxGraph, boxes: str) -> tuple[str, str]:
    return part(g, boxes, -1, 0, 2), part(g, boxes, -1, 2, 4)
