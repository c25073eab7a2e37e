"""Atomic writing of ONNX models to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caffe_proto.errors import FileError
from caffe_proto.storage import temporary_folder, write_pieces
from converters.onnx.library import onnx

_MAX_BYTES = 2**31 - 2**20  # protobuf's limit for one file, with some room for the graph
_SMALL_BYTES = 1024  # of an initializer that stays in the model, so that shapes can be inferred


def save_onnx(model: Any, path: str | Path, *, external: bool | None = None) -> None:
    """Write a model. With `external`, by default above 2 GB, its weights go to `<name>.data` beside it."""
    if too_large(model) if external is None else external:
        _save_with_external_data(model, Path(path))
    else:
        write_pieces(path, [model.SerializeToString()])


def too_large(model: Any) -> bool:
    """Whether a model is larger than one file can hold."""
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer) > _MAX_BYTES


def _save_with_external_data(model: Any, path: Path) -> None:
    data = f"{path.name}.data"
    copy = type(model)()
    copy.CopyFrom(model)  # saving removes the values from the model
    try:
        with temporary_folder(path.parent, path.name) as folder:
            model_path = folder / path.name
            onnx().save_model(
                copy, str(model_path), save_as_external_data=True, location=data, size_threshold=_SMALL_BYTES
            )
            (model_path.parent / data).replace(path.parent / data)
            model_path.replace(path)
    except OSError as problem:
        raise FileError(f"{path}: can't be written: {problem.strerror or problem}") from None
