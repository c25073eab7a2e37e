"""Paths that were right where a project was written: the folder that each stood for, and its place in the project
now."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from zoo.adopting.project import Project

_LEAST_PARTS = 2  # of a path that is recognized by its end


@dataclass
class OldPaths:
    """The old folders that stand for folders of the project, as found in the paths that its files name.

    `moved` maps an old folder, absolute or relative to Caffe's folder, to a folder in the project.
    """

    project: Project
    moved: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, paths: Iterable[str]) -> OldPaths:
        """Return the old folders that these paths, which don't exist where they are named, begin with."""
        votes = Counter(found for path in paths for found in _moves(project, path))
        moved = dict[str, str]()
        for (old, new), _ in votes.most_common():
            moved.setdefault(old, new)
        # A folder in an old folder moved with it.
        for old in sorted(moved, key=len):
            for outer in list(moved):
                if outer != old and old.startswith(f"{outer}/"):
                    inner = old.removeprefix(f"{outer}/")
                    if moved[old] == _joined(moved[outer], inner):
                        moved.pop(old)
                        break
        return cls(project, moved)

    def current(self, path: str) -> str | None:
        """Return the place in the project of a path, or `None` if it doesn't begin with an old folder."""
        clean = os.path.normpath(path)
        olds = sorted((old for old in self.moved if clean == old or clean.startswith(f"{old}/")), key=len)
        return _joined(self.moved[olds[-1]], clean[len(olds[-1]) + 1 :]) if olds else None


def exists(project: Project, path: str, folder: str) -> bool:
    """Return whether a path exists, relative to a folder of the project if it isn't absolute."""
    return (project.root / folder / _expanded(path)).exists()


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # another user's folder, who isn't known here
        return Path(path)


def relative_to(path: str, folder: str) -> str:
    """Return a path in the project relative to a folder of the project."""
    return os.path.relpath(path or ".", folder or ".")


def _moves(project: Project, path: str) -> Iterator[tuple[str, str]]:
    """Yield the old and the new folder if a part of a path exists in the project.

    The part ends as late as possible and is as long as possible. A project's folder may also have kept its name.
    """
    parts = PurePosixPath(os.path.normpath(path)).parts
    first = 1 if path.startswith("/") else 0
    for end in range(len(parts), first, -1):
        for start in range(first, end):
            is_long, is_end = end - start >= _LEAST_PARTS, end == len(parts)
            old = "/".join(parts[:start]).replace("//", "/")
            if old in ("", "/") or not (is_long or is_end):
                continue
            for place in _places(project, "/".join(parts[start:end]), unique=not is_long):
                yield old, place
                return
    if project.root.name in parts[first:]:
        yield "/".join(parts[: parts.index(project.root.name) + 1]).replace("//", "/"), "."


def _places(project: Project, end: str, *, unique: bool) -> Iterator[str]:
    """Yield the folder of the project that contains a path of this form. The root comes first."""
    known = project.files if unique else project.files | project.folders
    if end in known:
        yield "."
        return
    found = sorted(name for name in known if name.endswith(f"/{end}"))
    if len(found) == 1:
        yield found[0].removesuffix(f"/{end}")


def _joined(folder: str, path: str) -> str:
    return os.path.normpath(str(Path(folder) / path))
