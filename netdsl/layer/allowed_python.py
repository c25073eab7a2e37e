"""The Python modules whose code nets may run. A net can name any module, so a user allows them by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

allowed: set[str] = set()

ModuleFolders = Mapping[str, str]  # the folder of each module; empty for one that is found without


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


_finder = _AllowedFinder()


def allow(modules: ModuleFolders) -> None:
    """Let nets run code of modules, from now on."""
    allowed.update(modules)
    _finder.folders.update({_top(name): folder for name, folder in modules.items() if folder})
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
        spec = find_spec(_top(name))
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


def _top(name: str) -> str:
    return name.partition(".")[0]
