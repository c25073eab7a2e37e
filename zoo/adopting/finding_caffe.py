"""The commands that let a project's unchanged scripts find a Caffe: an environment variable, or one link."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from zoo.adopting.project import Project
from zoo.requests.groups import ALLOW_PYTHON

_PROGRAM = re.compile(r"(?:(?P<root>.*?)/)?(?P<build>build|\.build_release|build_release|distribute|bin)(/\w+)?/[\w.]+")


def commands_for_caffe(project: Project, folders: Mapping[str, str], caffe: str, modules: Sequence[str]) -> list[str]:
    """Return the commands, for a Caffe folder and the modules of Python layers. The list is empty if no script needs
    them."""
    commands = dict.fromkeys(
        command
        for script, calls in project.shell_scripts.items()
        for call in calls
        for command in _for_program(call.path, project.root / folders[script] / call.folder, caffe)
    )
    if modules and project.shell_scripts:
        commands[f"export {ALLOW_PYTHON}={','.join(modules)}"] = None
    if any(script.uses_caffe for script in project.python_scripts.values()):
        commands[f"export PYTHONPATH={caffe}/python:$PYTHONPATH"] = None
    return list(commands)


def _for_program(path: str, folder: Path, caffe: str) -> Iterator[str]:
    """Yield the command that makes the path of a program right."""
    variable = re.match(r"\$\{?(\w+)\}?(/.*)?", path)
    if "/" not in path:
        yield f"export PATH={caffe}/build/tools:$PATH"
    elif variable:
        is_root = _PROGRAM.fullmatch((variable[2] or "").lstrip("/"))
        yield f"export {variable[1]}={caffe}{'' if is_root else '/build/tools'}"
    elif "$" not in path and not (program := Path(os.path.normpath(folder / Path(path).expanduser()))).exists():
        match = _PROGRAM.fullmatch(str(program))
        if match is not None:
            yield from _link(Path(match["root"] or "/"), match["build"], caffe)


def _link(root: Path, build: str, caffe: str) -> Iterator[str]:
    """Yield the command that puts the Caffe folder, or the programs in it, in the place of a Caffe."""
    if root == Path(caffe).expanduser():
        return
    if root.exists():
        yield f"ln -s {caffe}/{build} {root}/{build}"
    else:
        yield f"{'' if root.parent.exists() else f'mkdir -p {root.parent} && '}ln -s {caffe} {root}"
