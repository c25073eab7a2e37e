from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from converters.onnx_import import from_onnx
from netdsl.model.model import Model
from netdsl.net.graph import Phase


@pytest.fixture
def graph() -> Callable[..., Any]:
    """Make a model from nodes in ONNX's own notation. A keyword is an input's shape or a constant."""

    import onnx
    from onnx import helper, numpy_helper, parser

    def make(text: str, *outputs: str, opset: int = 17, **values: Any) -> onnx.ModelProto:
        parsed = parser.parse_graph(f"g (float[1] unused) => (float[1] unused2) {{ {text} }}")
        shapes = {name: value for name, value in values.items() if isinstance(value, tuple)}
        arrays = {name: np.asarray(value) for name, value in values.items() if not isinstance(value, tuple)}
        made = helper.make_graph(
            list(parsed.node),
            "made",
            [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()],
            [onnx.ValueInfoProto(name=name) for name in outputs or ("y",)],
            [numpy_helper.from_array(_narrow(array), name) for name, array in arrays.items()],
        )
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    return make


def _narrow(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == np.float64 else array


@pytest.fixture
def same() -> Callable[..., Model]:
    """Convert a model, and compare the net with onnxruntime on random inputs."""

    import onnxruntime

    def check(model: Any, *, positive: bool = False, verify: bool = True, **shapes: Any) -> Model:
        made = from_onnx(model, shapes=shapes, verify=verify)
        module = made.module(Phase.TEST)
        random = np.random.default_rng(5)
        inputs = {name: random.standard_normal(module.built.shapes[edge]).astype(np.float32)
                  for name, edge in module.inputs.items()}  # fmt: skip
        inputs = {name: np.abs(value) + 0.1 if positive else value for name, value in inputs.items()}
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [each.name for each in session.get_outputs()]
        wanted = dict(zip(names, session.run(names, inputs), strict=True))
        with torch.no_grad():
            found = module(**{name: torch.from_numpy(value) for name, value in inputs.items()})
        assert set(found) == set(wanted)
        for name, array in wanted.items():
            assert tuple(found[name].shape) == array.shape
            spread = np.ptp(array) or 1.0
            assert np.abs(found[name].numpy() - array).max() <= 1e-5 * spread  # sums in another order
        return made

    return check
