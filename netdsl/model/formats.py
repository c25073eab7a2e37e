"""The formats that nets and weights come in beside Caffe's own, by the suffixes of files; and models with names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from caffe_proto.errors import FileError
from netdsl.registry import Registry

if TYPE_CHECKING:
    from caffe_proto import caffe_pb2 as pb
    from netdsl.model.model import Model


TENSOR_SUFFIXES = (".safetensors", ".npz", ".pt", ".pth")  # of files with named tensors, and without a net
WEIGHTS_SUFFIXES = (".caffemodel", ".h5", *TENSOR_SUFFIXES)  # of files of which one usually wants the weights alone

_FIRST_FIELD = re.compile(rb"\s*(#[^\n]*\n\s*)*[A-Za-z_]\w*\s*[:{]")
_BEGINNING = 4096  # bytes, in which there may be comments


class NamedModel(Protocol):
    """A model that a path, a folder or a name stands for: its nets, as files or in memory, and what comes with them."""

    @property
    def origin(self) -> str:
        """What errors and output call it."""
        ...

    @property
    def net(self) -> Path | pb.NetParameter:
        """The net to train."""
        ...

    @property
    def deployed(self) -> Path | pb.NetParameter:
        """The net to use, which is the same if there is no other."""
        ...

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files with its weights, which count where nobody names others."""
        ...

    @property
    def solver(self) -> Path | pb.SolverParameter | None:
        """The settings that it is trained with."""
        ...

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes that it tells apart; none if nothing names them."""
        ...

    @property
    def image_item(self) -> tuple[int, ...] | None:
        """The channels, height and width of the images that its nets take, if something beside these says so."""
        ...


@dataclass(frozen=True)
class FileModel:
    """A model that is one file, which has its net and perhaps its weights."""

    path: Path
    weights: tuple[Path, ...] = ()
    solver: None = None
    image_item: None = None

    @property
    def origin(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def net(self) -> Path:
        """The file."""
        return self.path

    @property
    def deployed(self) -> Path:
        """The same file."""
        return self.path

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes that are written beside the file."""
        from netdsl.data.sources.class_names import class_names_of_model

        return class_names_of_model(self.path)


FormatReader = Callable[[Path], "Model"]

CAFFE_SUFFIXES = (".prototxt", *WEIGHTS_SUFFIXES, ".solverstate", ".binaryproto")  # of files that need no reader
_ONNX = ".onnx"
_ZOO = "zoo.names:find_model"  # says what a name or a folder stands for; the names are imported when they are needed

FORMATS: Registry[FormatReader | str] = Registry("format", dict.fromkeys(CAFFE_SUFFIXES, "netdsl.model.opening"))
FORMATS.register(_ONNX, "converters.onnx_import:from_onnx", "netdsl.model.formats.onnx")


def reader_of(path: Path) -> FormatReader | None:
    """Return the reader that is registered for a file's format; None for Caffe's own, and for unknown ones."""
    if path.suffix in ("", *CAFFE_SUFFIXES):
        return None
    known = FORMATS.own().get(path.suffix) or FORMATS.get(path.suffix)
    reader: FormatReader | None = _imported(known, f"{path}: to read it")
    return reader


def named_model(path: str | Path) -> NamedModel:
    """Return what a path stands for: a file for itself, and else what the zoo says, which knows names and folders."""
    path = Path(path)
    if path.is_file():
        return FileModel(path)
    model: NamedModel | None = _imported(_ZOO, f"{path}: isn't a file; to look for a model of this name")(path)
    return model or FileModel(path)


def _imported(function: Any, purpose: str) -> Any:
    """Return a function or, for a text such as "module:function", the one that it names."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as problem:
        raise FileError(f"{purpose}, {module} is needed, and the package '{problem.name}' isn't installed") from None


def deploy_net_in(folder: Path) -> Path | None:
    """Return the file of the net for use in a model's folder: published models name theirs as they like."""
    named = folder / "deploy.prototxt"
    paths = [path for path in folder.glob("*deploy*.prototxt") if path.is_file()]
    return named if named.is_file() else paths[0] if len(paths) == 1 else None


def holds_weights(path: str | Path) -> bool:
    """Return whether a file's name says that weights are all one wants from it."""
    path = Path(path)
    return has_tensors(path) if path.suffix in TENSOR_SUFFIXES else path.suffix in WEIGHTS_SUFFIXES


def has_tensors(path: Path) -> bool:
    """Return whether a file has named tensors and no net, by its suffix. Faster R-CNN's nets end in .pt, as torch's
    files."""
    return path.suffix in TENSOR_SUFFIXES and not (path.suffix == ".pt" and path.is_file() and _is_prototxt(path))


def _is_prototxt(path: Path) -> bool:
    """Return whether a file begins with the name of a field, perhaps behind comments."""
    try:
        with path.open("rb") as file:
            return _FIRST_FIELD.match(file.read(_BEGINNING)) is not None
    except OSError:  # the reader says why
        return False
