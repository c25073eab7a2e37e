"""An ONNX model in onnxruntime, of which whatever onnxruntime has against it is one error that names it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from caffe_proto.errors import CaffeError
from converters.onnx.library import onnx, session
from converters.onnx.saving import save_onnx, too_large
from netdsl.errors import ConversionError

AnyArray = npt.NDArray[Any]

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class OnnxSession:
    """A model, ready to run."""

    def __init__(self, name: str, source: Any) -> None:
        self.name = name
        with _told(name):
            self._session = session(source)
        self.inputs: dict[str, list[int | str]] = {each.name: each.shape for each in self._session.get_inputs()}

    def __call__(self, given: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """The outputs by name; of what is given only the model's own inputs are read."""
        feed = {each.name: self._input(each, given) for each in self._session.get_inputs()}
        names = [each.name for each in self._session.get_outputs()]
        with _told(self.name):
            return dict(zip(names, self._session.run(names, feed), strict=True))

    def _input(self, wanted: Any, given: Mapping[str, AnyArray]) -> AnyArray:
        if wanted.name not in given:
            raise ConversionError(f"{self.name} has an input '{wanted.name}', for which nothing is given")
        if wanted.type not in _TYPES:
            raise ConversionError(f"{self.name} has an input '{wanted.name}' of type {wanted.type}, as no net has")
        return given[wanted.name].astype(_TYPES[wanted.type])


@contextmanager
def open_onnx_session(model: Any, shown: Collection[str] = ()) -> Iterator[OnnxSession]:
    """A model, or the file with it, ready to run, with more of its values as outputs."""
    name = str(model) if isinstance(model, (str, Path)) else f"model '{model.graph.name}'"
    if shown:
        with _told(name):
            model = _showing(model, shown)
    if isinstance(model, (str, Path)):
        yield OnnxSession(name, str(model))
    elif too_large(model):  # for onnxruntime to take but from a file
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            save_onnx(model, path)
            yield OnnxSession(name, str(path))
    else:
        yield OnnxSession(name, model)


@contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except CaffeError:
        raise
    except Exception as problem:  # of classes that onnxruntime doesn't publish
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise ConversionError(f"onnxruntime can't run {name}: {reason}") from None


def _showing(model: Any, names: Collection[str]) -> Any:
    shown = onnx().load(str(model)) if isinstance(model, (str, Path)) else type(model)()
    if not isinstance(model, (str, Path)):
        shown.CopyFrom(model)
    made = {value for node in shown.graph.node for value in node.output} - {each.name for each in shown.graph.output}
    shown.graph.output.extend(onnx().ValueInfoProto(name=name) for name in names if name in made)
    return shown
