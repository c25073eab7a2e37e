"""`HasOnnxForm`: layers that write themselves in ONNX operators, and the graph to which they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, floordiv, mul, sub
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from netdsl.errors import ConversionError
from netdsl.layer.core import Layer

UNKNOWN = -1  # the length of an axis that is known only when the model runs; in ONNX's Reshape, the remaining length

Length = int | str  # a length that is known, or the name of the value that has it when the model runs

_COMPUTE: dict[str, Callable[[int, int], int]] = {"Add": add, "Sub": sub, "Mul": mul, "Div": floordiv}


class OnnxGraph(Protocol):
    """An ONNX graph under construction. Values are identified by their names.

    `opset` is the version of the operators in the model. Nodes are written in the forms of opset 18, also if it is
    older.
    """

    opset: int

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return its only output. An empty name stands for an omitted input."""
        ...

    def nodes(self, op: str, *inputs: str, outputs: int, **attributes: Any) -> tuple[str, ...]:
        """Add a node with several outputs and return them."""
        ...

    def constant(self, values: Any) -> str:
        """Add a constant. Whole numbers become int64, and others have the type in which the net computes."""
        ...

    def blob(self, layer: Layer, name: str, shape: Sequence[int] | None = None) -> str:
        """Return a layer's blob, optionally in another shape. Layers that share a blob share it in the graph, too."""
        ...

    def shape(self, bottom: str) -> tuple[int, ...]:
        """Return the lengths of a bottom's axes with the batch. Lengths that can change are UNKNOWN."""
        ...

    def length(self, bottom: str, axis: int) -> int:
        """Return the length of an axis. It becomes fixed in the graph, because the layer depends on it."""
        ...

    def at_most(self, opset: int) -> None:
        """Limit the opset, because onnxruntime lacks one of the layer's operators in newer ones."""
        ...

    def to_float(self, value: str) -> str:
        """Convert a value to the type in which the net computes."""
        ...


class HasOnnxForm(Layer):
    """A layer that ONNX operators can compute."""

    varying_axis: ClassVar[int | None] = None  # the axis of the tops whose length is known only when the layer runs
    discontinuous = (
        False  # whether a rounding error in a bottom can change a top completely, such as a maximum's position
    )

    def onnx(self, g: OnnxGraph, *bottoms: Any, **_: Any) -> str | tuple[str, ...]:
        """Write the computation in the TEST phase, and return the names of the tops."""
        raise NotImplementedError


def length_of(g: OnnxGraph, bottom: str, axis: int) -> Length:
    """Return the length of an axis of a bottom. It stays open in the graph if it can change."""
    length = g.shape(bottom)[axis]
    return g.node("Shape", bottom, start=axis, end=axis + 1) if length == UNKNOWN else length


def computed(g: OnnxGraph, op: Literal["Add", "Sub", "Mul", "Div"], first: Length, second: Length) -> Length:
    """Return the sum, difference, product or quotient of two lengths. A quotient is rounded down."""
    if isinstance(first, int) and isinstance(second, int):
        return _COMPUTE[op](first, second)
    return g.node(op, *(listed(g, length) for length in (first, second)))


def listed(g: OnnxGraph, *lengths: Length) -> str:
    """Return lengths as one value."""
    if not any(isinstance(length, str) for length in lengths):
        return g.constant(lengths)
    values = [length if isinstance(length, str) else g.constant([length]) for length in lengths]
    return values[0] if len(values) == 1 else g.node("Concat", *values, axis=0)


def reshaped(g: OnnxGraph, x: str, *dims: Length) -> str:
    """Return a value in another shape. 0 copies a length, and UNKNOWN is the remaining length."""
    if dims.count(UNKNOWN) > 1:
        raise ConversionError(
            "can't be exported with more than one length in its shape that is known only when the model runs; "
            "set fixed shapes with --assume"
        )
    return g.node("Reshape", x, listed(g, *dims))


def flattened(g: OnnxGraph, x: str, axis: int) -> str:
    """Return a value with all axes from one on combined."""
    return reshaped(g, x, *[0] * axis, UNKNOWN)


def part(g: OnnxGraph, x: str, axis: int, begin: int, end: Length, step: int = 1) -> str:
    """Return the range of an axis from `begin` to `end`."""
    return g.node("Slice", x, *(listed(g, each) for each in (begin, end, axis, step)))


def trimmed(g: OnnxGraph, x: str, axis: int, begin: int, end: int) -> str:
    """Return a value without this many items at the two ends of an axis."""
    return part(g, x, axis, begin, -end if end else np.iinfo(np.int64).max) if begin or end else x


def smaller(g: OnnxGraph, a: str, b: str) -> str:
    """Return the smaller of whole numbers. Min knows them only from opset 12 on."""
    return g.node("Where", g.node("Less", a, b), a, b)


def reversed_along(g: OnnxGraph, x: str, axis: int) -> str:
    """Return a value with an axis reversed."""
    return part(g, x, axis, -1, np.iinfo(np.int64).min, -1)


def scaled(g: OnnxGraph, x: str, scale: float, shift: float = 0) -> str:
    """Return scale * x + shift without the steps that change nothing."""
    x = g.node("Mul", x, g.constant(float(scale))) if scale != 1 else x
    return g.node("Add", x, g.constant(float(shift))) if shift else x


def reduced(g: OnnxGraph, op: str, x: str, axes: Sequence[int], *, keep: bool = True) -> str:
    """Return a value with axes reduced by an operator such as ReduceSum or ReduceMean."""
    return g.node(op, x, g.constant(axes), keepdims=int(keep))


def clamped(g: OnnxGraph, x: str, least: float, most: float) -> str:
    """Return values clamped between two bounds, which may be infinite."""
    bounds = [g.constant(float(bound)) if np.isfinite(bound) else "" for bound in (least, most)]
    return g.node("Clip", x, *(bounds if bounds[1] else bounds[:1])) if any(bounds) else x


def transposed(g: OnnxGraph, x: str, *order: int) -> str:
    """Return a value with its axes in another order."""
    return g.node("Transpose", x, perm=list(order))


def whole(g: OnnxGraph, x: str) -> str:
    """Return numbers as integers, cut as in C."""
    return g.node("Cast", x, to=7)


def repeated(g: OnnxGraph, x: str, down: int, across: int) -> str:
    """Return an image with each pixel repeated `down` times vertically and `across` times horizontally."""
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return g.node("Resize", x, "", g.constant([1.0, 1.0, float(down), float(across)]), **how)


def interpolated(g: OnnxGraph, x: str, sizes: Sequence[Length], new_sizes: Sequence[Length]) -> str:
    """Return an image of other sizes, whose corners stay the same.

    OpenCV, MNN and ncnn need a scale for each axis. The new sizes are the products of sizes and scales, without their
    fractions. If a size can change, the graph computes the new sizes instead.
    """
    how = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    scales = [_scale(*pair) for pair in zip(sizes, new_sizes, strict=True)]
    if None in scales:
        planes = g.node("Shape", x, start=0, end=2)
        return g.node("Resize", x, "", "", g.node("Concat", planes, listed(g, *new_sizes), axis=0), **how)
    return g.node("Resize", x, "", g.constant([1.0, 1.0, *scales]), **how)


def _scale(size: Length, new_size: Length) -> float | None:
    """Return the scale from a size to another, or `None` if one of them is known only when the model runs.

    It is the smallest scale in single precision whose product with the size isn't less than the new size.
    """
    if isinstance(size, str) or isinstance(new_size, str):
        return None
    scale = np.float32(new_size / size)
    return float(scale if size * float(scale) >= new_size else np.nextafter(scale, np.float32(np.inf)))
