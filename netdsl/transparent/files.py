"""Files that ranks other than the first write. Each rank has private copies, which vanish at the end."""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from caffe_proto import storage

Replacement = tuple[Any, str, Any]  # a module or class, an attribute, and its new value

_WRITING = set("wax+")


class PrivateFiles:
    """A folder with the files that this rank has written. The rank reads them as if they were in their original
    places."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = {folder}  # folders that only this process uses
        self._make_folder, self._remove, self._rename = os.mkdir, os.unlink, os.rename
        self._remove_folder = shutil.rmtree

    def path(self, name: Any, *, writing: bool) -> Any:
        """Return this rank's path of a file. Names of anything but regular files are returned unchanged."""
        try:
            original = Path(os.path.abspath(os.fsdecode(os.fspath(name))))  # noqa: PTH100
        except TypeError:  # a descriptor, or an open file
            return name
        if original.is_relative_to("/dev") or original.is_relative_to("/proc"):
            return name
        if not self._own.isdisjoint((original, *original.parents)):
            return name
        private = self._folder / original.relative_to("/")
        if not writing:
            return private if private.exists() else name
        if not (original.parent.is_dir() or private.parent.is_dir()):
            return name  # opening it raises the same error as in the first rank
        private.parent.mkdir(parents=True, exist_ok=True)
        if not private.exists() and original.is_file():
            shutil.copyfile(original, private)
        return private

    def make_folder(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Create a folder that only this rank sees. An existing folder isn't an error, since the first rank may
        have created it."""
        if sys._getframe(1).f_globals.get("__name__") == "tempfile":
            self._own.add(Path(path).absolute())
        private = self.path(path, writing=True)
        if private is path:
            self._make_folder(path, *args, **kwargs)
            return
        with suppress(FileExistsError):
            self._make_folder(private, *args, **kwargs)

    def remove(self, name: Any, *, dir_fd: int | None = None) -> None:
        """Remove this rank's copy. The original file belongs to the first rank."""
        if dir_fd is not None:  # this is how this rank's own folders are removed
            self._remove(name, dir_fd=dir_fd)
            return
        private = self.path(name, writing=False)
        if private is not name or self._is_own(name):
            self._remove(private)

    def remove_folder(self, name: Any, *args: Any, **kwargs: Any) -> None:
        """Remove this rank's copy of a folder with all of its contents."""
        private = self.path(name, writing=False)
        if private is not name or Path(name).absolute() in self._own or self._is_own(name):
            self._remove_folder(private, *args, **kwargs)

    def rename(self, source: Any, target: Any) -> None:
        """Rename this rank's copy. The original file belongs to the first rank."""
        private = self.path(source, writing=False)
        if private is not source or self._is_own(source):
            self._rename(private, self.path(target, writing=True))

    def _is_own(self, name: Any) -> bool:
        return not self._own.isdisjoint(Path(name).absolute().parents)


@contextmanager
def private_files(within: str | None = None) -> Iterator[None]:
    """Make this rank's file changes private inside the context. They are kept in a folder within the given one, or with
    other temporary files.

    This covers `open`, `torch.save` and everything that uses them, such as numpy, and also removing and renaming files.
    """
    with TemporaryDirectory(prefix="zoo-run-", dir=within) as folder:
        files = PrivateFiles(Path(folder))
        opened, saved, loaded, status_of = io.open, torch.save, torch.load, os.stat
        target_of = storage.target_of

        def open_private(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            return opened(files.path(file, writing=bool(_WRITING & set(mode))), mode, *args, **kwargs)

        def save(values: Any, file: Any, *args: Any, **kwargs: Any) -> None:
            saved(values, files.path(file, writing=True), *args, **kwargs)

        def load(file: Any, *args: Any, **kwargs: Any) -> Any:
            return loaded(files.path(file, writing=False), *args, **kwargs)

        def status(file: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
            seen = file if dir_fd is not None else files.path(file, writing=False)
            return status_of(seen, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

        replacements: list[Replacement] = [
            (builtins, "open", open_private),
            (io, "open", open_private),
            (torch, "save", save),
            (torch, "load", load),
            (os, "mkdir", files.make_folder),
            (os, "stat", status),
            (storage, "target_of", lambda path: files.path(target_of(path), writing=True)),
            (shutil, "rmtree", files.remove_folder),
            *((os, name, files.remove) for name in ("remove", "unlink")),
            *((os, name, lambda source, target, **_: files.rename(source, target)) for name in ("rename", "replace")),
        ]
        with patched(replacements):
            yield


@contextmanager
def patched(replacements: list[Replacement]) -> Iterator[None]:
    """Replace attributes of modules inside the context."""
    before = [(place, name, getattr(place, name)) for place, name, _ in replacements]
    for place, name, value in replacements:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)
