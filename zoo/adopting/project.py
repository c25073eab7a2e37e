"""The files of a project, by kind. A Caffe that the project contains isn't part of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import read
from zoo.adopting.python_scripts import PythonScript, read_script
from zoo.adopting.shell_scripts import ProgramCall, calls_in

_MOST_FILES = 100_000
_LARGEST_SCRIPT = 1 << 20  # bytes
_HIDDEN = (".", "__pycache__")
_OF_CAFFE = ("include/caffe/caffe.hpp", "src/caffe/proto/caffe.proto")  # a folder with these is Caffe's source
_DATABASES = ("data.mdb", "CURRENT")  # a file in the folder of an LMDB, and of a LevelDB
_SHELLS = (".sh", ".bash")
_WEIGHTS = (".caffemodel", ".solverstate", ".h5")
_MEANS = (".binaryproto", ".npy")


@dataclass
class Project:
    """A folder with all the files in it that matter to Caffe. Paths are relative to the folder."""

    root: Path
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    solvers: dict[str, pb.SolverParameter] = field(default_factory=dict)
    nets: dict[str, pb.NetParameter] = field(default_factory=dict)
    other_prototxts: dict[str, str] = field(default_factory=dict)  # with the reason why it can't be read, if any
    shell_scripts: dict[str, list[ProgramCall]] = field(default_factory=dict)
    python_scripts: dict[str, PythonScript] = field(default_factory=dict)
    databases: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    means: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    caffe: list[str] = field(default_factory=list)  # folders with Caffe's own source

    def modules(self) -> set[str]:
        """Return the names of all modules in the project."""
        return {Path(name).stem for name in self.files if name.endswith(".py")} | {
            Path(name).name for name in self.folders
        }

    def first_path(self, name: str) -> str:
        """Return the first path in a list."""
        with (self.root / name).open(encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).rsplit(" ", 1)[0].split()[0]

    def text(self, name: str) -> str:
        """Return the text of a file. Bytes that aren't UTF-8 are kept as surrogates."""
        with (self.root / name).open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()


def read_project(root: Path) -> Project:
    """Read the files of a project. Nothing of it is run or imported."""
    project = Project(root)
    for name in _names(root, project):
        project.files.add(name)
        _add(project, name)
    for name in project.files:
        project.folders |= {str(folder) for folder in Path(name).parents if str(folder) != "."}
    return project


def _names(root: Path, project: Project) -> Iterator[str]:
    """Yield the files of the project in order, and note folders with Caffe's own source, whose files are left out."""
    count = 0
    for folder, subfolders, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        if inside != "." and any(Path(folder, mark).exists() for mark in _OF_CAFFE):
            project.caffe.append(inside)
            subfolders.clear()
            continue
        subfolders[:] = sorted(name for name in subfolders if not name.startswith(_HIDDEN))
        for name in sorted(files):
            count += 1
            if count > _MOST_FILES:
                return
            yield name if inside == "." else f"{inside}/{name}"


def _add(project: Project, name: str) -> None:
    path, suffix = project.root / name, Path(name).suffix
    if not path.is_file():
        return
    if suffix in (".prototxt", ".pt", ".pbtxt"):
        _add_prototxt(project, name)
    elif suffix in _SHELLS:
        if path.stat().st_size <= _LARGEST_SCRIPT:
            project.shell_scripts[name] = list(calls_in(project.text(name)))
    elif suffix == ".py":
        if path.stat().st_size <= _LARGEST_SCRIPT:
            project.python_scripts[name] = read_script(project.text(name))
    elif suffix in _WEIGHTS:
        project.weights.append(name)
    elif suffix in _MEANS:
        project.means.append(name)
    elif Path(name).name in _DATABASES:
        project.databases.append(str(Path(name).parent))
    elif suffix in (".txt", ".list", ".lst") and _is_list(path):
        project.lists.append(name)


def _add_prototxt(project: Project, name: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fields of forks, which the check of a solver reports
            message: Message = read(project.root / name, lenient=True).message
    except (CaffeError, OSError) as problem:
        project.other_prototxts[name] = str(problem).removeprefix(f"{project.root}/")
        return
    match message:
        case pb.SolverParameter():
            project.solvers[name] = message
        case pb.NetParameter() if message.layer or message.layers or message.input:
            project.nets[name] = message
        case _:
            project.other_prototxts[name] = ""


def _is_list(path: Path) -> bool:
    """Return whether the first line of a file is a path and numbers, as in lists of images."""
    with path.open("rb") as file:
        words = file.readline(4096).split()
    return len(words) > 1 and b"." in words[0] and all(word.lstrip(b"-").isdigit() for word in words[1:])
