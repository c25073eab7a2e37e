"""Operators in the forms that opsets before 18 know. Layers write the forms of opset 18."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from netdsl.layer.onnx_form import OnnxGraph, part, reduced

Outputs = tuple[str, ...]


class NewNode(NamedTuple):
    """A node to add: an operator with its inputs, its number of outputs and its attributes."""

    op: str
    inputs: Sequence[str]
    outputs: int
    attributes: dict[str, Any]


class OlderGraph(OnnxGraph, Protocol):
    """A graph under construction whose opset is older than 18."""

    def add(self, node: NewNode) -> Outputs:
        """Add a node exactly as given."""
        ...

    def values_of(self, constant: str) -> list[Any]:
        """Return the values of one of the layer's constants."""
        ...

    def lengths_of(self, value: str) -> tuple[int, ...] | None:
        """Return the lengths of a value's axes, if they are known."""
        ...


OlderForm = Callable[[OlderGraph, NewNode], Outputs]


def older_form(opset: int, op: str) -> OlderForm | None:
    """Return how an operator is written in an opset, or `None` if the form of opset 18 is known there."""
    if op not in _FORMS:
        return None
    newer, form = _FORMS[op]
    return form if opset < newer else None


def _axes_in_attribute(g: OlderGraph, node: NewNode) -> Outputs:
    return g.add(_with_input_in_attribute(g, node, "axes"))


def _split(g: OlderGraph, node: NewNode) -> Outputs:
    node.attributes.pop("num_outputs", None)
    return g.add(node if g.opset >= 13 else _with_input_in_attribute(g, node, "split"))


def _softmax(g: OlderGraph, node: NewNode) -> Outputs:
    """Write a softmax of one axis. The older operator's softmax is over this axis and all after it together."""
    (x,), axis = node.inputs, node.attributes["axis"]
    lengths = g.lengths_of(x)
    if axis == -1 or (lengths is not None and all(length == 1 for length in lengths[axis:][1:])):
        return g.add(node)
    shifted = g.node("Sub", x, reduced(g, "ReduceMax", x, [axis]))
    powers = g.node("Exp", shifted)
    total = reduced(g, "ReduceSum", powers, [axis])
    return (g.node("Sub", shifted, g.node("Log", total)) if node.op == "LogSoftmax" else g.node("Div", powers, total),)


def _resize(g: OlderGraph, node: NewNode) -> Outputs:
    """Write a Resize with a region and scales, which no older one may leave out."""
    x, *others = node.inputs
    return g.add(node._replace(inputs=[x, *(other or g.constant(np.zeros(0)) for other in others)]))


def _shape(g: OlderGraph, node: NewNode) -> Outputs:
    ends, lengths = node.attributes, g.add(node._replace(attributes={}))
    return (part(g, lengths[0], 0, ends["start"], ends["end"]),) if ends else lengths


def _hard_swish(g: OlderGraph, node: NewNode) -> Outputs:
    return (g.node("Mul", *node.inputs, g.node("HardSigmoid", *node.inputs, alpha=1 / 6, beta=0.5)),)


def _dropout(g: OlderGraph, node: NewNode) -> Outputs:
    x, ratio = node.inputs
    return g.add(node._replace(inputs=[x], attributes={"ratio": g.values_of(ratio)[0]}))


def _comparison(g: OlderGraph, node: NewNode) -> Outputs:
    return (g.node("Not", g.node("Less" if node.op == "GreaterOrEqual" else "Greater", *node.inputs)),)


def _gather(g: OlderGraph, node: NewNode) -> Outputs:
    """Write a choice of rows, each from its own group, as a choice of single values."""
    groups = node.attributes.get("batch_dims")
    if not groups:
        return g.add(node)
    rows, places = node.inputs
    first, last = (part(g, g.node("Shape", each), 0, *ends) for each, ends in ((places, (0, -1)), (rows, (-1, 99))))
    shape = g.node("Concat", first, last, axis=0)
    return (g.node("GatherElements", rows, g.node("Expand", places, shape), axis=groups),)


def _with_input_in_attribute(g: OlderGraph, node: NewNode, name: str) -> NewNode:
    """Return a node whose second input, if it has one, is an attribute."""
    x, *constants = node.inputs
    given = {name: g.values_of(constants[0])} if constants else {}
    return node._replace(inputs=[x], attributes=node.attributes | given)


# By operator: the first opset that knows opset 18's form, and how it is written before.
_FORMS: dict[str, tuple[int, OlderForm]] = {
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSumSquare"), (18, _axes_in_attribute)
    ),
    **dict.fromkeys(("ReduceSum", "Squeeze", "Unsqueeze"), (13, _axes_in_attribute)),
    **dict.fromkeys(("Softmax", "LogSoftmax"), (13, _softmax)),
    **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), (12, _comparison)),
    "Split": (18, _split),
    "Resize": (13, _resize),
    "Shape": (15, _shape),
    "HardSwish": (14, _hard_swish),
    "Dropout": (12, _dropout),
    "GatherND": (12, _gather),
}
