"""The changes that a project needs, as whole texts, as a patch, and in a copy of the project to check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from zoo.adopting.old_paths import OldPaths, relative_to
from zoo.adopting.project import Project

_QUOTED = re.compile(r"(?P<quote>[\"'])(?P<path>[^\"'\n]+)(?P=quote)")


def edited_texts(project: Project, old_paths: OldPaths, folders: Mapping[str, str]) -> dict[str, str]:
    """Return the new text of each file that needs changes: paths of another machine, and statements of Python 2.

    `folders` contains the folder to which the paths in each file refer.
    """
    texts = dict[str, str]()
    scripts = project.python_scripts
    for name in (*project.solvers, *project.nets, *project.shell_scripts, *scripts):
        if (project.root / name).is_symlink():
            continue
        before = project.text(name)
        modern = scripts[name].modern if name in scripts and scripts[name].uses_caffe else None
        folder = folders.get(name, str(Path(name).parent))
        if name in project.shell_scripts or name in scripts:
            after = _with_new_folders(modern or before, old_paths, folder)
        else:
            after = _with_new_paths(before, old_paths, folder)
            if name in project.solvers:
                after = _with_reachable_snapshots(after, project.solvers[name].snapshot_prefix)
        if after != before:
            texts[name] = after
    return texts


def _with_new_paths(text: str, old_paths: OldPaths, folder: str) -> str:
    """Return a prototxt in which quoted old paths are relative to a folder of the project."""

    def changed(match: re.Match[str]) -> str:
        current = old_paths.current(match["path"])
        if current is None or Path(match["path"]).exists():
            return match[0]
        slash = "/" if match["path"].endswith("/") else ""
        return f"{match['quote']}{relative_to(current, folder)}{slash}{match['quote']}"

    return _QUOTED.sub(changed, text)


def _with_reachable_snapshots(text: str, prefix: str) -> str:
    """Return a solver whose snapshots go to the folder in which it runs, if they went to a folder of another
    machine."""
    path = Path(prefix)
    is_away = path.is_absolute() and not path.parent.exists()
    return re.sub(rf"([\"']){re.escape(prefix)}([\"'])", rf"\1{path.name}\2", text) if is_away else text


def _with_new_folders(text: str, old_paths: OldPaths, folder: str) -> str:
    """Return a script in which absolute old folders are relative to a folder of the project."""
    for old in sorted(old_paths.moved, key=len, reverse=True):
        if old.startswith("/"):
            new = relative_to(old_paths.moved[old], folder)
            text = re.sub(rf"(?<![\w/.]){re.escape(old)}(?=[/\"'\s;]|$)", lambda _, new=new: new, text)  # type: ignore[misc]
    return text


def patch_of(project: Project, texts: Mapping[str, str]) -> str:
    """Return a unified patch for `patch -p1`, or an empty text without changes."""
    parts = list[str]()
    for name, text in texts.items():
        before, after = (_lines(each) for each in (project.text(name), text))
        for line in unified_diff(before, after, f"a/{name}", f"b/{name}"):
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only line feeds end lines, as in patches."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return [*lines[:-1], *([lines[-1][:-1]] if lines[-1] != "\n" else [])]


def write_shadow(project: Project, texts: Mapping[str, str], place: Path) -> Path:
    """Write a copy of a project with changed texts, in which all other files are links. Return its place."""
    for name in project.files:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in texts:
            path.write_text(texts[name], encoding="utf-8", errors="surrogateescape")
        elif (project.root / name).is_symlink():
            path.symlink_to((project.root / name).readlink())
        else:
            path.symlink_to(project.root / name)
    return place
