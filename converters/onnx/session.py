"""Runs models in onnxruntime. Its errors become `ConversionError`s that name the model."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from caffe_proto.errors import CaffeError
from caffe_proto.storage import is_utf8
from converters.onnx.files import SplitModel, too_large, write_model
from converters.onnx.library import inference_session, onnx
from netdsl.errors import ConversionError
from netdsl.model.weights.match import AnyArray

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


@dataclass(frozen=True)
class WrittenModel:
    """A model in a file that this package wrote, so it needn't be checked. Its message may lack the weights."""

    path: Path
    message: Any
    name: str  # the name in errors


class OnnxSession:
    """A model that is ready to run. `outputs` are its own outputs. The results contain `extra_outputs` before them."""

    def __init__(self, name: str, source: bytes | Path, extra_outputs: Collection[str] = ()) -> None:
        self.name = name
        if isinstance(source, Path) and not is_utf8(source):
            raise ConversionError(f"{name}: onnxruntime opens only paths in UTF-8; write the model to another path")
        with conversion_errors(name):
            self._session = inference_session(source)
        self.inputs: dict[str, list[int | str | None]] = {
            value.name: value.shape for value in self._session.get_inputs()
        }
        self.outputs = tuple(value.name for value in self._session.get_outputs() if value.name not in extra_outputs)
        self._names = [*extra_outputs, *self.outputs]

    def __call__(self, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Run the model and return the outputs by name. Arrays that aren't inputs of the model are ignored."""
        feed = {value.name: self._input(value, arrays) for value in self._session.get_inputs()}
        with conversion_errors(self.name):
            return dict(zip(self._names, self._session.run(self._names, feed), strict=True))

    def _input(self, expected: Any, arrays: Mapping[str, AnyArray]) -> AnyArray:
        if expected.name not in arrays:
            raise ConversionError(f"{self.name} has an input '{expected.name}' without a value; pass an array for it")
        if expected.type not in _TYPES:
            raise ConversionError(
                f"the input '{expected.name}' of {self.name} has type {expected.type}, but only floating-point "
                "types can be compared; export the model with float32 inputs"
            )
        return arrays[expected.name].astype(_TYPES[expected.type])


@contextmanager
def open_onnx_session(model: Any, extra_outputs: Collection[str] = ()) -> Iterator[OnnxSession]:
    """Open a session of a ModelProto or a WrittenModel. `extra_outputs` are values of its nodes to return as well."""
    message = model.message if isinstance(model, WrittenModel) else model
    made = {value for node in message.graph.node for value in node.output} - {
        value.name for value in message.graph.output
    }
    names = [value for value in extra_outputs if value in made]
    with _source(model, names) as source:
        yield OnnxSession(name_of(model), source, names)


def name_of(model: Any) -> str:
    """Return the name of a model for errors."""
    return model.name if isinstance(model, WrittenModel) else f"model '{model.graph.name}'"


@contextmanager
def _source(model: Any, names: Collection[str]) -> Iterator[bytes | Path]:
    """Provide the bytes or the file of a model with more values as outputs.

    onnxruntime reads large models only from files.
    """
    if isinstance(model, WrittenModel):
        with _with_outputs(model.path, names) as path:
            yield path
    elif too_large(model):
        with TemporaryDirectory() as folder:
            write_model(SplitModel.of(model), Path(folder) / "model.onnx")
            with _with_outputs(Path(folder) / "model.onnx", names) as path:
                yield path
    else:
        yield model.SerializeToString() + _outputs(names)


@contextmanager
def _with_outputs(path: Path, names: Collection[str]) -> Iterator[Path]:
    """Provide a copy of a model's file, in the same folder, with more outputs."""
    if not names:
        yield path
        return
    copy = path.with_name(f"{path.name}.outputs")
    try:
        shutil.copyfile(path, copy)
        with copy.open("ab") as file:
            file.write(_outputs(names))
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _outputs(names: Collection[str]) -> bytes:
    """Return the bytes to append to a model so that it has more outputs.

    protobuf merges messages that follow each other.
    """
    library = onnx()
    outputs = [library.ValueInfoProto(name=name) for name in names]
    encoded: bytes = library.ModelProto(graph=library.GraphProto(output=outputs)).SerializeToString()
    return encoded if outputs else b""


@contextmanager
def conversion_errors(name: str, verb: str = "run") -> Iterator[None]:
    """Turn onnxruntime's errors about a model into `ConversionError`s."""
    try:
        yield
    except (CaffeError, OSError):
        raise
    except Exception as problem:  # onnxruntime's exception classes aren't public
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise ConversionError(
            f"onnxruntime can't {verb} {name}: {reason}; export it with another --opset, or upgrade onnxruntime"
        ) from None
