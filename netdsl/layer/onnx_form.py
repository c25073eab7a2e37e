"""`HasOnnxForm`: layers that can be written in ONNX's operators, and the graph that they write themselves to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from netdsl.errors import ConversionError
from netdsl.layer.core import Layer

UNKNOWN = -1  # the length of an axis that is known only when the model runs; ONNX's Reshape has it for what is left


class OnnxGraph(Protocol):
    """A graph that takes nodes, constants and blobs. A value is its name.

    Operators are those of `opset`, which is 18 or more.
    """

    opset: int

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Return the one output of a new node; an input that is left out is an empty name."""
        ...

    def nodes(self, op: str, *inputs: str, outputs: int, **attributes: Any) -> tuple[str, ...]:
        """Return the outputs of a new node that has several."""
        ...

    def constant(self, values: Any) -> str:
        """Numbers: whole ones as int64, others in the type that the net computes in."""
        ...

    def blob(self, layer: Layer, name: str, shape: Sequence[int] | None = None) -> str:
        """Return a layer's blob, there once for all layers that share it; perhaps in another shape."""
        ...

    def shape(self, bottom: str) -> tuple[int, ...]:
        """Return the lengths of a bottom's axes, the batch included; UNKNOWN for those that can change."""
        ...

    def length(self, bottom: str, axis: int) -> int:
        """Return the length of an axis that the layer has to know, and which therefore can't change."""
        ...

    def at_most(self, opset: int) -> None:
        """Say that onnxruntime lacks one of the layer's operators in newer opsets than this one."""
        ...

    def to_float(self, value: str) -> str:
        """Return a value of another type in the type that the net computes in."""
        ...


class HasOnnxForm(Layer):
    """A layer that ONNX's operators can compute."""

    varying_axis: ClassVar[int | None] = None  # the axis of the tops whose length is known only when the layer runs
    discontinuous = False  # whether the last digit of a bottom can change a top altogether, as a maximum's place

    def onnx(self, g: OnnxGraph, *bottoms: Any, **_: Any) -> str | tuple[str, ...]:
        """Write what the layer computes in the TEST phase: the names of its tops, from those of its bottoms."""
        raise NotImplementedError


def reshaped(g: OnnxGraph, x: str, *dims: int) -> str:
    """Return a value in another shape: 0 keeps the length at the same place, UNKNOWN is what is left."""
    if dims.count(UNKNOWN) > 1:
        raise ConversionError("has more than one length in its shape that is known only when the model runs")
    return g.node("Reshape", x, g.constant(dims))


def flattened(g: OnnxGraph, x: str, axis: int) -> str:
    """Everything from an axis on as one."""
    return reshaped(g, x, *[0] * axis, UNKNOWN)


def part(g: OnnxGraph, x: str, axis: int, begin: int, end: int, step: int = 1) -> str:
    """Return what lies between two places of an axis."""
    return g.node("Slice", x, *(g.constant([each]) for each in (begin, end, axis, step)))


def reversed_along(g: OnnxGraph, x: str, axis: int) -> str:
    """Return the values of an axis from the last to the first."""
    return part(g, x, axis, -1, np.iinfo(np.int64).min, -1)


def scaled(g: OnnxGraph, x: str, scale: float, shift: float = 0) -> str:
    """Return a value scaled and shifted, without the steps that change nothing."""
    x = g.node("Mul", x, g.constant(float(scale))) if scale != 1 else x
    return g.node("Add", x, g.constant(float(shift))) if shift else x


def reduced(g: OnnxGraph, op: str, x: str, axes: Sequence[int], *, keep: bool = True) -> str:
    """Axes reduced by ReduceSum, ReduceMean and the like."""
    return g.node(op, x, g.constant(axes), keepdims=int(keep))


def clamped(g: OnnxGraph, x: str, least: float, most: float) -> str:
    """Return values between two bounds, which may be infinite."""
    bounds = [g.constant(float(bound)) if np.isfinite(bound) else "" for bound in (least, most)]
    return g.node("Clip", x, *(bounds if bounds[1] else bounds[:1])) if any(bounds) else x


def transposed(g: OnnxGraph, x: str, *order: int) -> str:
    """Return the axes in another order."""
    return g.node("Transpose", x, perm=list(order))


def whole(g: OnnxGraph, x: str) -> str:
    """Numbers as integers, cut as C cuts them."""
    return g.node("Cast", x, to=7)


def repeated(g: OnnxGraph, x: str, down: int, across: int) -> str:
    """Return every pixel of an image repeated so often."""
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return g.node("Resize", x, "", g.constant([float(down), float(across)]), axes=[2, 3], **how)
