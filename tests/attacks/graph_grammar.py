"""A grammar of ONNX graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.attacks.grammar import REPEAT, Grammar


class GraphGrammar(Grammar):
    """An ONNX graph."""

    COMMANDS: ClassVar = (("check", "FILE"), ("convert", "FILE", "OUT.prototxt"), ("import", "FILE", "-o", "OUT"))
    RULES: ClassVar = {
        "constant": 2, "range": 1, "double": 1, "tile": 1, "expand": 2, "relu": 0, "convolution": 2, "multiply": 1,
        "reshape": 2, "loop": 1, "pad": 1, "stored": 1, "take": 0, "slice": 1, "transpose": 0, "resize": 1, "sum": 1,
        "shape": 0, "one_hot": 1, "split": 1, REPEAT: 2,
    }  # fmt: skip

    def __init__(self) -> None:
        self._nodes, self._stored = list[Any](), list[Any]()
        self._last, self._count, self._size = "x", 0, 300

    @property
    def size(self) -> int:
        return self._size

    def write(self, folder: Path) -> Path:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
        y = helper.make_tensor_value_info(self._last, TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, "g", [x], [y], self._stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = folder / "x.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    def _node(self, kind: str, inputs: Sequence[str], **settings: Any) -> str:
        self._count += 1
        self._last = f"v{self._count}"
        self._nodes.append(helper.make_node(kind, inputs, [self._last], **settings))
        self._size += self._nodes[-1].ByteSize() + 2
        return self._last

    def _numbers(self, *values: int) -> str:
        self._count += 1
        name = f"c{self._count}"
        capped = [min(value, 1 << 62) for value in values]
        self._stored.append(numpy_helper.from_array(np.array(capped, np.int64), name))
        self._size += self._stored[-1].ByteSize() + 2
        return name

    def constant(self, a: int, b: int) -> None:
        self._node("ConstantOfShape", [self._numbers(a, b)])

    def range(self, end: int) -> None:
        names = []
        for value in (0, end, 1):
            names.append(f"r{self._count}_{value}")
            self._stored.append(numpy_helper.from_array(np.array(min(value, 1 << 62), np.int64), names[-1]))
            self._count += 1
        self._node("Range", names)
        self._node("Cast", [self._last], to=TensorProto.FLOAT)

    def double(self, times: int) -> None:
        for _ in range(min(times, 60)):
            self._node("Concat", [self._last, self._last], axis=0)

    def tile(self, times: int) -> None:
        self._node("Tile", [self._last, self._numbers(1, max(times, 1))])

    def expand(self, a: int, b: int) -> None:
        self._node("Expand", [self._last, self._numbers(a, b)])

    def relu(self) -> None:
        self._node("Relu", [self._last])

    def convolution(self, outputs: int, kernel: int) -> None:
        values = np.zeros((min(outputs, 1000) + 1, 3, min(kernel, 7) + 1, min(kernel, 7) + 1), np.float32)
        self._stored.append(numpy_helper.from_array(values, f"w{self._count}"))
        self._size += values.nbytes
        self._node("Conv", [self._last, f"w{self._count}"])

    def multiply(self, size: int) -> None:
        weights = self._node("ConstantOfShape", [self._numbers(8, size)])
        self._node("MatMul", ["x", weights])

    def reshape(self, a: int, b: int) -> None:
        self._node("Reshape", [self._last, self._numbers(a, b, -1)])

    def loop(self, trips: int) -> None:
        i, c, v = (
            helper.make_tensor_value_info(name, kind, shape)
            for name, kind, shape in (
                ("i", TensorProto.INT64, []),
                ("c", TensorProto.BOOL, []),
                ("v", TensorProto.FLOAT, None),
            )
        )
        body = helper.make_graph(
            [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Concat", ["v", "v"], ["w"], axis=0)],
            "b",
            [i, c, v],
            [
                helper.make_tensor_value_info("d", TensorProto.BOOL, []),
                helper.make_tensor_value_info("w", TensorProto.FLOAT, None),
            ],
        )
        self._stored.append(numpy_helper.from_array(np.array(True), f"t{self._count}"))
        self._node("Loop", [self._numbers(trips), f"t{self._count - 1}", self._last], body=body)

    def pad(self, size: int) -> None:
        self._node("Pad", [self._last, self._numbers(0, 0, 0, 0, 0, 0, size, size)])

    def stored(self, size: int) -> None:
        self._numbers(*([1] * min(size, 50_000)))

    def take(self) -> None:
        self._node("Gather", [self._last, self._numbers(0)], axis=0)

    def slice(self, end: int) -> None:
        self._node("Slice", [self._last, self._numbers(0), self._numbers(end)])

    def transpose(self) -> None:
        self._node("Transpose", [self._last])

    def resize(self, size: int) -> None:
        self._node("Resize", [self._last, "", "", self._numbers(1, 3, size, size)], mode="nearest")

    def sum(self, count: int) -> None:
        self._node("Sum", [self._last] * min(count + 1, 5000))

    def shape(self) -> None:
        self._node("Shape", [self._last])

    def one_hot(self, depth: int) -> None:
        indices, count = self._numbers(0, 1), self._numbers(depth)
        self._node("OneHot", [indices, count, self._numbers(0, 1)])

    def split(self, count: int) -> None:
        names = [f"s{self._count}_{number}" for number in range(min(count + 1, 5000))]
        self._nodes.append(helper.make_node("Split", [self._last], names, axis=1))
        self._last, self._count = names[0], self._count + 1
        self._size += self._nodes[-1].ByteSize()
