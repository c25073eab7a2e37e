"""The onnx and onnxruntime packages, which are imported nowhere else."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from caffe_proto.errors import MissingExtraError

OLDEST_OPSET = 18  # from here on axes of reductions are inputs


def onnx() -> Any:
    """The onnx package."""
    return _package("onnx")


def onnxruntime() -> Any:
    """The onnxruntime package."""
    return _package("onnxruntime")


def _package(name: str) -> Any:
    try:
        import_module(f"{name}.helper" if name == "onnx" else name)
        return import_module(name)
    except ImportError:
        raise MissingExtraError(f"ONNX models need {name}: pip install 'netdsl[onnx]'") from None


@cache
def newest_opset() -> int:
    """The newest opset that both packages know."""
    newest: int = onnx().defs.onnx_opset_version()
    return next((opset for opset in range(newest, OLDEST_OPSET, -1) if _runs(opset)), OLDEST_OPSET)


def _runs(opset: int) -> bool:
    """Whether onnxruntime takes a model of an opset; it says so only by trying."""
    helper = onnx().helper
    value = [helper.make_tensor_value_info(name, onnx().TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", value[:1], value[1:])
    try:
        session(model_of(graph, opset))
    except Exception:  # of classes that onnxruntime doesn't publish
        return False
    return True


def model_of(graph: Any, opset: int) -> Any:
    """A model of a graph, in the oldest form of file that has the opset, for the sake of old readers."""
    helper = onnx().helper
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports))


def session(model: Any) -> Any:
    """A model, or the path of one, ready to run on a CPU without a word."""
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    source = model if isinstance(model, str) else model.SerializeToString()
    return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
