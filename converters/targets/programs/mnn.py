"""Converts models to MNN's format with MNN's own converter, and runs them in MNN on the CPU."""

from pathlib import Path
from typing import Any

import _tools  # MNN's converter; its module MNN.tools installs a package that reports each use when it is imported
import MNN.expr
import MNN.nn
import numpy as np


def run(files: list[str], inputs: dict[str, Any], outputs: list[str], framework: str) -> dict[str, Any]:
    """Return the outputs."""
    converted = Path("model.mnn").absolute()
    model, *net = reversed(files)
    command = ["mnnconvert", "-f", framework, "--modelFile", model, "--MNNModel", str(converted)]
    _tools.mnnconvert([*command, *(["--prototxt", net[0]] if net else [])])
    if not converted.is_file():
        raise ValueError("MNN's converter writes no model")
    module = MNN.nn.load_module_from_file(str(converted), list(inputs), outputs)
    results = module.forward([_variable(array) for array in inputs.values()])
    return {name: _array(result) for name, result in zip(outputs, results, strict=True)}


def _variable(array: Any) -> Any:
    return MNN.expr.const(np.ascontiguousarray(array), list(array.shape), MNN.expr.NCHW)


def _array(variable: Any) -> Any:
    return MNN.expr.convert(variable, MNN.expr.NCHW).read().copy()
