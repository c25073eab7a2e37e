"""The modules whose code a user allows by name: plug-ins, and the modules of Python layers, which any net can name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, MutableSet, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ModuleFolders = Mapping[str, str]  # the folder of each module; empty for modules that are importable already


class AllowedModules(MutableSet[str]):
    """A set of modules that are allowed for one purpose, with the folders of those that aren't installed."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._folders

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._folders))

    def __len__(self) -> int:
        return len(self._folders)

    def add(self, name: str) -> None:
        """Allow a module that Python finds on its own search path."""
        self.allow({name: ""})

    def discard(self, name: str) -> None:
        """Stop allowing a module."""
        self._folders.pop(name, None)

    def allow(self, modules: ModuleFolders) -> None:
        """Allow modules until they are discarded."""
        self._folders.update(modules)
        if any(modules.values()) and _finder not in sys.meta_path:
            sys.meta_path.append(_finder)

    @contextmanager
    def allowing(self, modules: ModuleFolders) -> Iterator[None]:
        """Allow modules until the context ends."""
        earlier = dict(self._folders)
        self.allow(modules)
        try:
            yield
        finally:
            self._folders = earlier

    def places(self) -> dict[str, str]:
        """Return the folder in which this process finds each module, for other processes of the same user."""
        return {name: _folder_of(name) for name in self}

    def folder_of_top(self, name: str) -> str:
        """Return the folder of an allowed module whose top-level name this is.

        Returns an empty text if there is none.
        """
        return next((folder for module, folder in self._folders.items() if folder and _top(module) == name), "")


PYTHON_LAYERS, PLUGINS = AllowedModules(), AllowedModules()


class _AllowedFinder(MetaPathFinder):
    """Finds allowed modules, and only those, in their folders. Installed modules take precedence."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of an allowed top-level module. Packages find their own submodules."""
        folder = PYTHON_LAYERS.folder_of_top(fullname) or PLUGINS.folder_of_top(fullname)
        return None if not folder or path is not None else PathFinder.find_spec(fullname, [folder])


_finder = _AllowedFinder()


def in_folder(names: Iterable[str], folder: str | Path) -> dict[str, str]:
    """Return modules with the folder to search if they aren't installed."""
    return dict.fromkeys(names, str(folder))


def module_file(name: str) -> Path | None:
    """Return the file or folder of a name's top-level module without importing it.

    Returns `None` if there is no such module.
    """
    try:
        spec = find_spec(_top(name))
    except ValueError:  # a module that a program created, which has no spec
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin and spec.has_location else None


def _folder_of(name: str) -> str:
    file = module_file(name)
    return "" if file is None else str(file.resolve().parent)


def _top(name: str) -> str:
    return name.partition(".")[0]
