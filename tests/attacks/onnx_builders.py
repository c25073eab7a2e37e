"""Small ONNX models that ask for much memory or time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def onnx_model(*nodes: Any, **constants: np.ndarray) -> Any:
    """Return a model that computes y from x with these nodes and constants."""
    graph = helper.make_graph(
        list(nodes),
        "made",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def added(*nodes: Any, last: str, **constants: np.ndarray) -> Any:
    """Return a model that adds a constant, which the nodes compute, to its input."""
    return onnx_model(*nodes, helper.make_node("Add", ["x", last], ["y"]), **constants)


def huge_range(count: int = 1 << 30) -> Any:
    """Return a model with a range of this number of values."""
    node = helper.make_node("Range", ["start", "count", "step"], ["c"])
    numbers = {"start": np.float32(0), "count": np.float32(count), "step": np.float32(1)}
    return added(node, last="c", **{name: np.array(value) for name, value in numbers.items()})


def hidden_range(count: int = 1 << 30) -> Any:
    """Return a model with a range whose length isn't known before another node is computed."""
    nodes = [
        helper.make_node("NonZero", ["flags"], ["places"]),
        helper.make_node("ReduceMax", ["places"], ["last"], keepdims=0),
        helper.make_node("Mul", ["last", "times"], ["count"]),
        helper.make_node("Range", ["start", "count", "step"], ["c"]),
    ]
    numbers = {name: np.array(value, np.int64) for name, value in (("start", 0), ("times", count), ("step", 1))}
    return added(*nodes, last="c", flags=np.ones(2, np.int64), **numbers)


def doubling_concats(count: int = 30) -> Any:
    """Return a model that joins a constant to itself again and again."""
    names = ["c0", *(f"c{index}" for index in range(1, count + 1))]
    nodes = [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in pairwise(names)]
    return added(*nodes, last=names[-1], c0=np.ones(1, np.int64))


def growing_tiles(count: int = 20) -> Any:
    """Return a model that repeats a constant again and again."""
    names = ["c0", *(f"c{index}" for index in range(1, count + 1))]
    nodes = [helper.make_node("Tile", [a, "times"], [b]) for a, b in pairwise(names)]
    return added(*nodes, last=names[-1], c0=np.ones(1, np.float32), times=np.array([8]))


def many_copies(count: int = 4000, values: int = 100_000) -> Any:
    """Return a model that keeps a changed copy of a constant for each node."""
    names = ["c0", *(f"c{index}" for index in range(1, count + 1))]
    nodes = [helper.make_node("Neg", [a], [b]) for a, b in pairwise(names)]
    expanded = helper.make_node("Expand", ["one", "shape"], ["c0"])
    return added(expanded, *nodes, last=names[-1], one=np.ones(1, np.float32), shape=np.array([values]))


def large_product(side: int = 4096) -> Any:
    """Return a model that multiplies two constant matrices."""
    nodes = [
        helper.make_node("Expand", ["one", "shape"], ["m"]),
        helper.make_node("MatMul", ["m", "m"], ["p"]),
    ]
    return added(*nodes, last="p", one=np.ones((1, 1), np.float32), shape=np.array([side, side]))


def endless_loop(inside_a_branch: bool = True) -> Any:
    """Return a model with a loop of countless iterations, in a branch of an If or not."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["goes"]), helper.make_node("Neg", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, ()),
            helper.make_tensor_value_info("on", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, (3,)),
        ],
        [
            helper.make_tensor_value_info("goes", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, (3,)),
        ],
    )
    constants = {"times": np.array(1 << 62), "yes": np.array(True), "start": np.ones(3, np.float32)}
    loop = helper.make_node("Loop", ["times", "yes", "start"], ["c"], body=body)
    if not inside_a_branch:
        return added(loop, last="c", **constants)
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    branch = helper.make_graph(
        [loop], "branch", [], [helper.make_tensor_value_info("c", TensorProto.FLOAT, (3,))], tensors
    )
    node = helper.make_node("If", ["yes"], ["d"], then_branch=branch, else_branch=branch)
    return added(node, last="d", yes=np.array(True))


def chain(count: int, operator: str = "Relu") -> Any:
    """Return a model of many nodes, one after another."""
    names = ["x", *(f"r{index}" for index in range(1, count)), "y"]
    return onnx_model(*(helper.make_node(operator, [a], [b]) for a, b in pairwise(names)))


def unread_loop() -> Any:
    """Return a model with an endless loop whose result isn't read."""
    model = endless_loop(inside_a_branch=False)
    model.graph.node[-1].input[1] = "start"
    return model
