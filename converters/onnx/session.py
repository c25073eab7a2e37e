"""Sessions of onnxruntime, whose errors are ConversionErrors that name the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from caffe_proto.errors import CaffeError
from converters.onnx.library import inference_session, onnx
from converters.onnx.reading import load_onnx
from converters.onnx.saving import save_onnx, too_large
from netdsl.errors import ConversionError

AnyArray = npt.NDArray[Any]

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class OnnxSession:
    """A model that is ready to run."""

    def __init__(self, name: str, source: Any) -> None:
        self.name = name
        with _conversion_errors(name):
            self._session = inference_session(source)
        self.inputs: dict[str, list[int | str]] = {value.name: value.shape for value in self._session.get_inputs()}

    def __call__(self, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Run the model; the outputs by name. Arrays that aren't inputs of the model are ignored."""
        feed = {value.name: self._input(value, arrays) for value in self._session.get_inputs()}
        names = [value.name for value in self._session.get_outputs()]
        with _conversion_errors(self.name):
            return dict(zip(names, self._session.run(names, feed), strict=True))

    def _input(self, expected: Any, arrays: Mapping[str, AnyArray]) -> AnyArray:
        if expected.name not in arrays:
            raise ConversionError(f"{self.name} has an input '{expected.name}', which has no value")
        if expected.type not in _TYPES:
            raise ConversionError(
                f"{self.name} has an input '{expected.name}' of type {expected.type}; it must be of floating point"
            )
        return arrays[expected.name].astype(_TYPES[expected.type])


@contextmanager
def open_onnx_session(model: Any, extra_outputs: Collection[str] = ()) -> Iterator[OnnxSession]:
    """Open a session of a model or of its file, with extra values as outputs."""
    name = str(model) if isinstance(model, (str, Path)) else f"model '{model.graph.name}'"
    file = str(model) if isinstance(model, (str, Path)) else None
    if file is not None:
        model = load_onnx(file)
    if extra_outputs:
        model, file = _with_outputs(model, extra_outputs), None
    if too_large(model) and file is not None:
        yield OnnxSession(name, file)
    elif too_large(model):  # onnxruntime reads such a model only from a file
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            save_onnx(model, path)
            yield OnnxSession(name, str(path))
    else:
        yield OnnxSession(name, model)


@contextmanager
def _conversion_errors(name: str) -> Iterator[None]:
    try:
        yield
    except CaffeError:
        raise
    except Exception as problem:  # onnxruntime's exception classes aren't public
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise ConversionError(f"onnxruntime can't run {name}: {reason}") from None


def _with_outputs(model: Any, names: Collection[str]) -> Any:
    copy = type(model)()
    copy.CopyFrom(model)
    node_outputs = {value for node in copy.graph.node for value in node.output} - {
        value.name for value in copy.graph.output
    }
    copy.graph.output.extend(onnx().ValueInfoProto(name=name) for name in names if name in node_outputs)
    return copy
