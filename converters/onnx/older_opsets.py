"""Operators in the forms that opsets before 18 know. Layers write the forms of opset 18."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from netdsl.errors import ConversionError
from netdsl.layer.onnx_form import OnnxGraph, part, reduced


class OlderGraph(OnnxGraph, Protocol):
    """A graph under construction whose opset is older than 18."""

    def add(self, op: str, inputs: Sequence[str], outputs: int, attributes: Mapping[str, Any]) -> tuple[str, ...]:
        """Add a node exactly as given."""
        ...

    def values_of(self, constant: str) -> list[Any]:
        """Return the values of one of the layer's constants."""
        ...

    def lengths_of(self, value: str) -> tuple[int, ...] | None:
        """Return the lengths of a value's axes, if they are known."""
        ...


OlderForm = Callable[[OlderGraph, str, Sequence[str], int, dict[str, Any]], tuple[str, ...]]


def older_form(opset: int, op: str) -> OlderForm | None:
    """Return how an operator is written in an opset, or `None` if the form of opset 18 is known there."""
    newer, form = _FORMS.get(op, (0, _axes_in_attribute))
    return form if opset < newer else None


def _axes_in_attribute(
    g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]
) -> tuple[str, ...]:
    return g.add(op, inputs[:1], outputs, attributes | _given("axes", g, inputs[1:]))


def _split(g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]) -> tuple[str, ...]:
    attributes.pop("num_outputs", None)
    if g.opset >= 13:
        return g.add(op, inputs, outputs, attributes)
    return g.add(op, inputs[:1], outputs, attributes | _given("split", g, inputs[1:]))


def _softmax(
    g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]
) -> tuple[str, ...]:
    """Write a softmax of one axis. The older operator's softmax is over this axis and all after it together."""
    (x,), axis = inputs, attributes["axis"]
    lengths = g.lengths_of(x)
    if axis == -1 or (lengths is not None and all(length == 1 for length in lengths[axis:][1:])):
        return g.add(op, inputs, outputs, attributes)
    shifted = g.node("Sub", x, reduced(g, "ReduceMax", x, [axis]))
    powers = g.node("Exp", shifted)
    total = reduced(g, "ReduceSum", powers, [axis])
    return (g.node("Sub", shifted, g.node("Log", total)) if op == "LogSoftmax" else g.node("Div", powers, total),)


def _resize(g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]) -> tuple[str, ...]:
    """Write a Resize of an image's height and width, which older ones don't do without all axes."""
    x, region, scales, *sizes = inputs
    if attributes.pop("axes") != [2, 3]:
        raise ConversionError("resizes other axes than an image's, which needs opset 18")
    if scales:
        scales = g.constant([1.0, 1.0, *g.values_of(scales)])
    sizes = [g.node("Concat", g.node("Shape", x, start=0, end=2), each, axis=0) for each in sizes]
    if g.opset < 13:  # no input may be left out there
        region, scales = region or g.constant(np.zeros(0)), scales or g.constant(np.zeros(0))
    return g.add(op, [x, region, scales, *sizes], outputs, attributes)


def _shape(g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]) -> tuple[str, ...]:
    lengths = g.add(op, inputs, outputs, {})
    return (part(g, lengths[0], 0, attributes["start"], attributes["end"]),) if attributes else lengths


def _hard_swish(
    g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]
) -> tuple[str, ...]:
    return (g.node("Mul", *inputs, g.node("HardSigmoid", *inputs, alpha=1 / 6, beta=0.5)),)


def _dropout(
    g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]
) -> tuple[str, ...]:
    x, ratio = inputs
    return g.add(op, [x], outputs, {"ratio": g.values_of(ratio)[0]})


def _comparison(
    g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]
) -> tuple[str, ...]:
    return (g.node("Not", g.node("Less" if op == "GreaterOrEqual" else "Greater", *inputs)),)


def _gather(g: OlderGraph, op: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]) -> tuple[str, ...]:
    """Write a choice of rows, each from its own group, as a choice of single values."""
    if not attributes.get("batch_dims"):
        return g.add(op, inputs, outputs, attributes)
    rows, places = inputs
    first, last = (part(g, g.node("Shape", each), 0, *ends) for each, ends in ((places, (0, -1)), (rows, (-1, 99))))
    shape = g.node("Concat", first, last, axis=0)
    return (g.node("GatherElements", rows, g.node("Expand", places, shape), axis=attributes["batch_dims"]),)


def _given(name: str, g: OlderGraph, constants: Sequence[str]) -> dict[str, list[Any]]:
    """Return an attribute in place of an input that may be left out."""
    return {name: g.values_of(constants[0])} if constants else {}


# By operator: the first opset that knows opset 18's form, and how it is written before.
_FORMS: dict[str, tuple[int, OlderForm]] = {
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSumSquare"), (18, _axes_in_attribute)
    ),
    **dict.fromkeys(("ReduceSum", "Squeeze", "Unsqueeze"), (13, _axes_in_attribute)),
    **dict.fromkeys(("Softmax", "LogSoftmax"), (13, _softmax)),
    **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), (12, _comparison)),
    "Split": (18, _split),
    "Resize": (18, _resize),
    "Shape": (15, _shape),
    "HardSwish": (14, _hard_swish),
    "Dropout": (12, _dropout),
    "GatherND": (12, _gather),
}
