"""Maps suffixes of files to the formats of nets and weights besides Caffe's own, and finds models by path or name."""

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


TENSOR_SUFFIXES = (".safetensors", ".npz", ".pt", ".pth")  # files with named tensors and without a net
WEIGHTS_SUFFIXES = (".caffemodel", ".h5", *TENSOR_SUFFIXES)  # files that are usually opened only for their weights

_FIRST_FIELD = re.compile(rb"\s*(#[^\n]*\n\s*)*[A-Za-z_]\w*\s*[:{]")
_BEGINNING = 4096  # the bytes to search; they may contain comments


class NamedModel(Protocol):
    """A model that a path, a folder or a name stands for, with its nets and the files that belong to it."""

    @property
    def origin(self) -> str:
        """The name of the model in errors and output."""
        ...

    @property
    def net(self) -> Path | pb.NetParameter:
        """The net to train."""
        ...

    @property
    def deployed(self) -> Path | pb.NetParameter:
        """The net to use. It is the net to train if there is no other."""
        ...

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files with the model's weights. They are used unless other files are named."""
        ...

    @property
    def solver(self) -> Path | pb.SolverParameter | None:
        """The settings of the model's training, or `None`."""
        ...

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the model's classes. Empty if they are unknown."""
        ...

    @property
    def image_item(self) -> tuple[int, ...] | None:
        """The channels, height and width of the images that the model's nets read, or `None` if nothing besides the
        nets states them."""
        ...


@dataclass(frozen=True)
class FileModel:
    """A model that is a single file with a net and perhaps weights."""

    path: Path
    weights: tuple[Path, ...] = ()
    solver: None = None

    @property
    def image_item(self) -> tuple[int, ...] | None:
        """The channels, height and width of images in the file's card, or `None` if it has none."""
        if not self.path.is_file():
            return None
        described: NamedModel | None = _imported(_CARD, f"{self.path}: to read its card")(self.path)
        return None if described is None else described.image_item

    @property
    def origin(self) -> str:
        """The path of the file as text."""
        return str(self.path)

    @property
    def net(self) -> Path:
        """The file, whose net is the net to train."""
        return self.path

    @property
    def deployed(self) -> Path:
        """The same file, because a file contains only one net."""
        return self.path

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes that are written in the file's folder."""
        from netdsl.data.sources.class_names import class_names_of_model

        return class_names_of_model(self.path)


FormatReader = Callable[..., "Model"]  # from a path, and the shapes of inputs if it has such a parameter

# The suffixes of files that don't need a reader.
CAFFE_SUFFIXES = (".prototxt", *WEIGHTS_SUFFIXES, ".solverstate", ".binaryproto")
_ONNX = ".onnx"
_ZOO = "zoo.names:find_model"  # finds the model of a name or a folder; it is imported when it is needed
_CARD = "zoo.model_folder:model_of_file"  # finds the model of a file with a card

FORMATS: Registry[FormatReader | str] = Registry("format", dict.fromkeys(CAFFE_SUFFIXES, "netdsl.model.opening"))
FORMATS.register(_ONNX, "converters.onnx_import:from_onnx", "netdsl.model.formats.onnx")


def reader_of(path: Path) -> FormatReader | None:
    """Return the reader of a file's format, or `None` for Caffe's own formats and for unknown ones."""
    if path.suffix in ("", *CAFFE_SUFFIXES):
        return None
    known = FORMATS.own().get(path.suffix) or FORMATS.get(path.suffix)
    reader: FormatReader | None = _imported(known, f"{path}: to read this file")
    return reader


def named_model(path: str | Path) -> NamedModel:
    """Return the model that a path stands for.

    A file stands for itself. The zoo finds the models of names and folders.
    """
    from netdsl.storage.local_copies import opened_path  # imports numpy, which would slow down --help

    path = opened_path(path)
    if path.is_file():
        return FileModel(path)
    model: NamedModel | None = _imported(_ZOO, f"{path}: this is not a file; to look for a model of this name")(path)
    return model or FileModel(path)


def _imported(function: Any, purpose: str) -> Any:
    """Import a function that a text such as "module:function" names. A function is returned as it is."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as problem:
        raise FileError(
            f"{purpose}, {module} is needed, but the package '{problem.name}' isn't installed; run `zoo "
            "doctor`, which shows how to install it"
        ) from None


def deploy_net_in(folder: Path) -> Path | None:
    """Return the file of the net to use in a model's folder, or `None`. Published models have various names for it."""
    named = folder / "deploy.prototxt"
    paths = [path for path in folder.glob("*deploy*.prototxt") if path.is_file()]
    return named if named.is_file() else paths[0] if len(paths) == 1 else None


def holds_weights(path: str | Path) -> bool:
    """Return whether a file is usually opened only for its weights, judging by its name."""
    path = Path(path)
    return has_tensors(path) if path.suffix in TENSOR_SUFFIXES else path.suffix in WEIGHTS_SUFFIXES


def has_tensors(path: Path) -> bool:
    """Return whether a file contains named tensors and no net, judging by its suffix.

    Faster R-CNN's nets end in .pt, like torch's files, so those are read.
    """
    return path.suffix in TENSOR_SUFFIXES and not (path.suffix == ".pt" and path.is_file() and _is_prototxt(path))


def _is_prototxt(path: Path) -> bool:
    """Return whether a file begins with the name of a field, after any comments."""
    try:
        with path.open("rb") as file:
            return _FIRST_FIELD.match(file.read(_BEGINNING)) is not None
    except OSError:  # the reader reports the reason
        return False
