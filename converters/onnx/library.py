"""Imports the onnx and onnxruntime packages. No other module imports them."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra
from converters.usage_reports import NO_REPORTS

OLDEST_OPSET = 11  # the first one with CumSum, GatherElements and Range


def onnx() -> Any:
    """Return the onnx package."""
    return _package("onnx")


def onnx_module(name: str) -> Any:
    """Return a module of the onnx package that isn't imported with the package."""
    return import_module(f"{onnx().__name__}.{name}")


def onnxruntime() -> Any:
    """Return the onnxruntime package. It doesn't report its use to its makers, unless the user has allowed it."""
    for name, value in NO_REPORTS.items():
        os.environ.setdefault(name, value)
    return _package("onnxruntime")


def onnxruntime_quantization() -> Any:
    """Return onnxruntime's quantizer, which needs more packages than the rest of onnxruntime."""
    return import_extra(f"{onnxruntime().__name__}.quantization", "onnx", "quantization needs a newer onnxruntime")


def _package(name: str) -> Any:
    import_extra(f"{name}.helper" if name == "onnx" else name, "onnx", f"ONNX models need {name}")
    return import_module(name)


@cache
def newest_opset() -> int:
    """Return the newest opset that both packages support."""
    newest: int = onnx().defs.onnx_opset_version()
    return next((opset for opset in range(newest, OLDEST_OPSET, -1) if _runs(opset)), OLDEST_OPSET)


def _runs(opset: int) -> bool:
    """Return whether onnxruntime runs a model of an opset. Only a trial shows this."""
    helper = onnx().helper
    value = [helper.make_tensor_value_info(name, onnx().TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", value[:1], value[1:])
    try:
        inference_session(model_of(graph, opset).SerializeToString())
    except Exception:  # onnxruntime's exception classes aren't public
        return False
    return True


def model_of(graph: Any, opset: int) -> Any:
    """Return a model of a graph. It uses the oldest file format that supports the opset, so that old readers can read
    it."""
    helper = onnx().helper
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports))


def inference_session(model: bytes | Path) -> Any:
    """Return an onnxruntime session for a model's bytes or file, on the CPU and without log messages."""
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
