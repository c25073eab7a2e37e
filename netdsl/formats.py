"""The formats that nets and weights come in beside Caffe's own, by the suffixes of files; and models with names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto.errors import FileError

if TYPE_CHECKING:  # whoever only registers a format needn't wait for numpy and protobuf
    from netdsl.open_net import Model

TENSOR_SUFFIXES = (".safetensors", ".npz", ".pt", ".pth")  # of files with named tensors, and without a net
WEIGHTS_SUFFIXES = (".caffemodel", ".h5", *TENSOR_SUFFIXES)  # of files of which one usually wants the weights alone

_FIRST_FIELD = re.compile(rb"\s*(#[^\n]*\n\s*)*[A-Za-z_]\w*\s*[:{]")
_BEGINNING = 4096  # bytes, in which there may be comments

FormatReader = Callable[[Path], "Model"]

# Formats that a package registers when it is imported, since they need more than this one has.
_PACKAGES = {".onnx": "converters"}

_readers: dict[str, FormatReader] = {}


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model that has a name or a folder; `net` is the one to train or, `deployed`, the one to use."""

    net: Path
    deployed: Path
    weights: tuple[Path, ...] = ()


_finders: list[Callable[[Path], ModelFiles | None]] = []


def register_format(suffix: str, reader: FormatReader) -> None:
    """Let files with a suffix be opened wherever a net or weights are, as what their reader makes of them."""
    _readers[suffix] = reader


def reader_of(path: Path) -> FormatReader | None:
    """The reader that is registered for a file's format; None if it isn't a format to be registered."""
    if path.suffix in _PACKAGES and path.suffix not in _readers:
        package = _PACKAGES[path.suffix]
        raise FileError(f"{path}: {path.suffix} files are read by the package {package}; write `import {package}`")
    return _readers.get(path.suffix)


def register_models(finder: Callable[[Path], ModelFiles | None]) -> None:
    """Let models be named wherever a net is taken: `finder` says which files a name or a folder stands for."""
    _finders.append(finder)


def model_files(path: Path) -> ModelFiles:
    """The files that a path stands for: itself, or those of a model's folder or name."""
    if path.is_file():
        return ModelFiles(path, path)
    if not _finders and not path.suffix and not path.exists():
        raise FileError(f"{path}: no such file; for the names of models write `import zoo` first")
    return next((files for finder in _finders if (files := finder(path)) is not None), ModelFiles(path, path))


def deploy_net_in(folder: Path) -> Path | None:
    """The file of the net for use in a model's folder: published models name theirs as they like."""
    named = folder / "deploy.prototxt"
    paths = [path for path in folder.glob("*deploy*.prototxt") if path.is_file()]
    return named if named.is_file() else paths[0] if len(paths) == 1 else None


def holds_weights(path: str | Path) -> bool:
    """Whether a file's name says that weights are all one wants from it."""
    path = Path(path)
    return has_tensors(path) if path.suffix in TENSOR_SUFFIXES else path.suffix in WEIGHTS_SUFFIXES


def has_tensors(path: Path) -> bool:
    """Whether a file has named tensors and no net, by its suffix. Faster R-CNN's nets end in .pt, as torch's files."""
    return path.suffix in TENSOR_SUFFIXES and not (path.suffix == ".pt" and path.is_file() and _is_prototxt(path))


def _is_prototxt(path: Path) -> bool:
    """Whether a file begins with the name of a field, perhaps behind comments."""
    try:
        with path.open("rb") as file:
            return _FIRST_FIELD.match(file.read(_BEGINNING)) is not None
    except OSError:  # whoever reads it says why
        return False
