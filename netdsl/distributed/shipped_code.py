"""The code that a command sends to its workers: allowed modules that aren't installed, as files by relative path."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path
from types import ModuleType

from caffe_proto.storage import path_below, temporary_folder
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS, module_file
from netdsl.errors import DistributedError, NetError
from netdsl.plugins import allowed_plugins, import_again

MOST_FILES, MOST_BYTES = 1000, 8 << 20  # of all modules together; they fit into one message
_INSTEAD = "move data out of the package, or install it on the machines of the workers"

_shipped: Mapping[str, bytes] | None = None
_folder: Path | None = None  # a process uses its folder's name again, since plug-ins register files by their paths


@contextmanager
def shipping(wanted: bool) -> Iterator[None]:
    """Send the modules that are allowed now to the workers of trainings inside the context, if that is wanted."""
    global _shipped
    before = _shipped
    if wanted:
        _shipped = pack(_allowed_modules())
    try:
        yield
    finally:
        _shipped = before


def shipped_code() -> Mapping[str, bytes] | None:
    """Return the files that this process sends to its workers, or `None` if it sends none."""
    return _shipped


def pack(modules: Iterable[str]) -> dict[str, bytes]:
    """Return the files of the top-level modules that aren't installed, by their paths below a common folder.

    Raises a `DistributedError` if they are too large.
    """
    files, left = dict[str, bytes](), MOST_BYTES
    for top in _tops(modules):
        found = module_file(top)
        if found is None or found.parent.resolve() not in _folders_of_user(top):
            continue
        for name, path in _files_of(found):
            if len(files) == MOST_FILES:
                raise DistributedError(
                    f"{found}: with this module, --ship would send more than {MOST_FILES:,} files; {_INSTEAD}"
                )
            try:
                with path.open("rb") as file:
                    files[name] = file.read(left + 1)
            except OSError as problem:
                raise DistributedError(
                    f"{path}: --ship can't read the file: {problem.strerror}; make it readable, or remove it"
                ) from None
            left -= len(files[name])
            if left < 0:
                raise DistributedError(
                    f"{path}: with this file, --ship would send more than {MOST_BYTES:,} bytes; {_INSTEAD}"
                )
    return files


@contextmanager
def code_in_place(files: Mapping[str, bytes]) -> Iterator[None]:
    """Import allowed modules from files that were received until the context ends, wherever others of these names are.

    The files are in a temporary folder that only this user can open.
    """
    global _folder
    with temporary_folder(Path(tempfile.gettempdir()).resolve(), "netdsl-code", again=_folder) as folder:
        _folder = folder
        tops = unpack(files, folder)
        own = _forget_modules(tops)
        import_again(tops)
        sys.path.insert(0, str(folder))
        invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            _forget_modules(tops)
            sys.modules.update(own)


def unpack(files: Mapping[str, bytes], folder: Path) -> set[str]:
    """Write the files of modules that this process allows below a folder. Return the names of these top-level
    modules."""
    allowed, written = _tops(_allowed_modules()), set[str]()
    for name, contents in files.items():
        path = path_below(folder, name)
        if path is None:
            raise DistributedError(
                "the supervisor sends a module with a file outside of its folder; start all workers with the same "
                "version of netdsl"
            )
        top = path.relative_to(folder).parts[0].removesuffix(".py")
        if top not in allowed:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
        except OSError as problem:
            raise DistributedError(
                f"{folder}: the modules of --ship can't be written: {problem.strerror}; free space there, or set "
                "TMPDIR to another folder"
            ) from None
        written.add(top)
    return written


def advice_on_missing_module(problem: BaseException | None, ships: bool) -> str:
    """Return what else helps if a worker doesn't find a user's module. Returns an empty text for other problems."""
    while problem is not None:
        if isinstance(problem, NetError) and isinstance(problem.__cause__, ModuleNotFoundError):
            return (
                "; --ship then sends it to the workers"
                if ships
                else "; or add --ship, or ship=True in a program, which sends allowed modules to the workers"
            )
        problem = problem.__cause__
    return ""


def _allowed_modules() -> list[str]:
    return [*PYTHON_LAYERS, *allowed_plugins()]


def _tops(modules: Iterable[str]) -> list[str]:
    return sorted({name.partition(".")[0] for name in modules})


def _folders_of_user(top: str) -> set[Path]:
    """Return the folders whose modules aren't installed: those of the user and of the program."""
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    allowed = PYTHON_LAYERS.folder_of_top(top), PLUGINS.folder_of_top(top)
    folders = [Path.cwd(), *map(Path, filter(None, allowed)), *([Path(program).parent] if program else [])]
    return {folder.resolve() for folder in folders}


def _files_of(module: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names and the paths of a module's file, or of the files in its package."""
    if module.is_file():
        if module.suffix != ".py":
            raise DistributedError(
                f"{module}: --ship sends only modules in Python's source; install this one on the machines of the "
                "workers"
            )
        yield module.name, module
        return
    root = module.resolve()
    for where, folders, names in os.walk(root):  # doesn't follow links to folders
        folders[:] = sorted(name for name in folders if not _is_left_out(name))
        for name in sorted(name for name in names if not _is_left_out(name)):
            path = Path(where, name)
            if path.is_file() and path.resolve().is_relative_to(root):
                yield f"{module.name}/{path.relative_to(root).as_posix()}", path


def _is_left_out(name: str) -> bool:
    """Return whether a file or folder is hidden, a cache, or has a name that can't be sent."""
    return name.startswith(".") or name == "__pycache__" or not name.isprintable()


def _forget_modules(tops: Collection[str]) -> dict[str, ModuleType]:
    """Remove imported modules from Python's table, and return them."""
    names = [name for name in sys.modules if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}
