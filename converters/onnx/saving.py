"""ONNX models in files: whole ones or none."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from converters.onnx.library import onnx

_MOST = 2**31 - 2**20  # of what protobuf writes in one file, with some room for the graph
_SMALL = 1024  # bytes of an initializer that stays in the model, so that shapes can be inferred


def save_onnx(model: Any, path: str | Path, *, external: bool | None = None) -> None:
    """Write a model. Weights go into `<name>.data` beside it above 2 GB, or if `external` says so."""
    if too_large(model) if external is None else external:
        _save_apart(model, Path(path))
    else:
        write_pieces(path, [model.SerializeToString()])


def too_large(model: Any) -> bool:
    """Whether a model is more than one file can hold."""
    return sum(len(each.raw_data) for each in model.graph.initializer) > _MOST


def _save_apart(model: Any, path: Path) -> None:
    data = f"{path.name}.data"
    copy = type(model)()
    copy.CopyFrom(model)  # saving takes the values out of what it saves
    try:
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.") as folder:
            made = Path(folder) / path.name
            onnx().save_model(copy, str(made), save_as_external_data=True, location=data, size_threshold=_SMALL)
            (made.parent / data).replace(path.parent / data)
            made.replace(path)
    except OSError as problem:
        raise FileError(f"{path}: can't be written: {problem.strerror or problem}") from None
