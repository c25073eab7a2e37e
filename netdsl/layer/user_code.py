"""Layers that users write in Python: which modules of theirs nets may run, what they see, and what errors say."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import LayerNote, user_code_problem
from netdsl.layer.core import Layer
from netdsl.layer.running import NeedsValues

allowed: set[str] = set()  # a net can name any module, so a user allows them by name
ModuleFolders = Mapping[str, str]  # the folder of each module; empty for one that is found without
Array = NDArray[Any]


class RunsUserCode(NeedsValues):
    """A layer that runs code which the net names. `user` is the object of the user's class."""

    waits = "runs Python code on the host"
    user: Any


class ReplacesUserCode(Layer):
    """A layer type that does what some well-known Python layers do."""

    python_names: ClassVar[tuple[str, ...]]  # those layers, as `python_name` calls them


def python_name(layer: pb.LayerParameter) -> str | None:
    """The module and class that a Python layer names, as module.class; None for other layers."""
    python = layer.python_param
    return f"{python.module}.{python.layer}" if layer.HasField("python_param") else None


def is_allowed(layer: pb.LayerParameter) -> bool:
    """Whether the code that a Python layer names may be run."""
    return layer.python_param.module in allowed


@contextmanager
def running_user_code(layer: pb.LayerParameter) -> Iterator[None]:
    """Let exceptions of a user's code pass as they are, with a note that has the layer and the line of its file."""
    try:
        yield
    except Exception as problem:
        if user_code_problem(problem) is None:
            problem.add_note(LayerNote(f"layer '{layer.name}' ({python_name(layer)}){_line_of(problem, layer)}"))
        raise


def _line_of(problem: Exception, layer: pb.LayerParameter) -> str:
    """The line of the user's own file where it happened."""
    file = getattr(sys.modules.get(layer.python_param.module), "__file__", None)
    lines = [frame.lineno for frame in extract_tb(problem.__traceback__) if frame.filename == file]
    return f", {Path(file).name}:{lines[-1]}" if file and lines else ""


class ArrayBlob:
    """Values and gradients of one blob."""

    def __init__(self, shape: tuple[int, ...] = (), dtype: DTypeLike = np.float32) -> None:
        self.data: Array = np.zeros(shape, dtype)
        self.diff: Array = np.zeros(shape, dtype)

    def reshape(self, *shape: int) -> None:
        """Take another shape; what was in it is lost."""
        if shape != self.data.shape:
            self.data = np.zeros(shape, self.data.dtype)
            self.diff = np.zeros(shape, self.data.dtype)

    def hold(self, values: Array) -> None:
        """Have a copy of these values, and no gradient."""
        self.data = values.copy()
        self.diff = np.zeros_like(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""
        return self.data.shape

    @property
    def count(self) -> int:
        """The number of values."""
        return self.data.size

    def _length(self, axis: int) -> int:
        return self.data.shape[axis] if axis < self.data.ndim else 1

    num = property(lambda self: self._length(0))
    channels = property(lambda self: self._length(1))
    height = property(lambda self: self._length(2))
    width = property(lambda self: self._length(3))


class ArrayBlobs(list[ArrayBlob]):
    """A layer's own blobs."""

    def add_blob(self, *shape: int) -> None:
        """One more, of zeros."""
        self.append(ArrayBlob(tuple(int(size) for size in shape)))


class _AllowedFinder(MetaPathFinder):
    """Finds allowed modules in their folders, and nothing else there. What is installed comes before it."""

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module at the top of an allowed name; packages find their own parts."""
        folder = self.folders.get(fullname)
        return None if folder is None or path is not None else PathFinder.find_spec(fullname, [folder])


def allow(modules: ModuleFolders) -> None:
    """Let nets run code of modules, from now on."""
    allowed.update(modules)
    _finder.folders.update({_top_module(name): folder for name, folder in modules.items() if folder})
    if _finder.folders and _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


@contextmanager
def allowing(modules: ModuleFolders) -> Iterator[None]:
    """Let nets that are built meanwhile run code of modules."""
    earlier, earlier_folders = set(allowed), dict(_finder.folders)
    allow(modules)
    try:
        yield
    finally:
        allowed.intersection_update(earlier)
        _finder.folders = earlier_folders


def allowed_folders() -> dict[str, str]:
    """All allowed modules with the folders in which this process finds them, for other processes of the same user."""
    return {name: _folder_of(name) for name in sorted(allowed)}


def in_folder(names: Iterable[str], folder: str | Path) -> dict[str, str]:
    """Modules that are looked for in a folder, where they aren't installed."""
    return dict.fromkeys(names, str(folder))


def module_file(name: str) -> Path | None:
    """The file or folder of the module at the top of a name; None if there is none. Nothing is imported."""
    try:
        spec = find_spec(_top_module(name))
    except ValueError:  # a module that some program made up
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin and spec.has_location else None


def _folder_of(name: str) -> str:
    file = module_file(name)
    return "" if file is None else str(file.resolve().parent)


def _top_module(name: str) -> str:
    return name.partition(".")[0]


_finder = _AllowedFinder()
