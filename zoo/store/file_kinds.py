"""Which files belong to a model, by their names, and which can't be taken from a stranger."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import PurePosixPath

from zoo.cards import CARD
from zoo.store.errors import StoreError

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")

_WEIGHTS = (".caffemodel", ".h5", ".safetensors", ".npz")
_NETS = (".prototxt", ".onnx")
_OTHERS = (".binaryproto", ".npy", ".txt", ".md", ".onnx_data")
_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".t7", ".pdparams", ".msgpack")
_LICENCES = ("license", "licence", "copying", "notice")
_LONGEST = 200  # letters, so that a temporary name fits beside it


class FileKind(Enum):
    """What a model has a file for."""

    NET = auto()
    WEIGHTS = auto()
    OTHER = auto()  # a mean, labels, a licence, a card
    PICKLED = auto()  # loading it runs what it says
    FOREIGN = auto()


def kind_of(name: str) -> FileKind:
    """What a file is, by its name."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _NETS:
        return FileKind.NET
    if suffix in _WEIGHTS:
        return FileKind.WEIGHTS
    if suffix in _PICKLED:
        return FileKind.PICKLED
    is_licence = PurePosixPath(name).name.lower().startswith(_LICENCES) and suffix in ("", *_OTHERS)
    return FileKind.OTHER if suffix in _OTHERS or is_licence else FileKind.FOREIGN


def is_archive(name: str) -> bool:
    """Whether a file is an archive that a model may be in."""
    return name.lower().endswith(ARCHIVES)


def is_kept(name: str) -> bool:
    """Whether the store takes a file of this name."""
    return kind_of(name) not in (FileKind.PICKLED, FileKind.FOREIGN)


def stored_name(name: str) -> str:
    """The name that a file gets in the store: Caffe's readme.md is the card, too."""
    return CARD if name.lower() == CARD.lower() else name


def checked_name(name: str, where: str) -> str:
    """A name that somebody else gave a file; an error if it could lie anywhere but in its own folder."""
    is_plain = PurePosixPath(name).name == name and name.isprintable() and not set(name) & set("\\:")
    if not is_plain or name.startswith(".") or len(name.encode()) > _LONGEST:
        raise StoreError(f"{where}: names a file '{name}', which isn't a plain name in the model's own folder")
    return name
