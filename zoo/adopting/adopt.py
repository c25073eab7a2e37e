"""Adoption of a project for `zoo adopt`: how its files are connected, what is missing, and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.storage import write_pieces
from caffe_proto.upgrade import upgrade_net
from netdsl.checking.solver_chain import ChainLink, check_chain, files_of_settings, source_of
from netdsl.errors import DataError
from netdsl.layer.user_code import python_name
from zoo.adopting.caffe_folder import write_caffe_folder
from zoo.adopting.edits import edited_texts, patch_of, write_shadow
from zoo.adopting.finding_caffe import commands_for_caffe
from zoo.adopting.old_paths import OldPaths, exists
from zoo.adopting.project import Project, read_project
from zoo.requests.adopting import AdoptRequest
from zoo.requests.events import Listen, work
from zoo.requests.request import answers

_CAFFE = "~/caffe"  # the suggested folder


class FileUse(NamedTuple):
    """A file that a script names: the line, the program or class that reads it, the role of the file and its name."""

    line: int
    by: str
    role: str
    name: str


@dataclass(frozen=True)
class AdoptedScript:
    """A script with the folder in which it runs and the files that it names.

    `missing` contains the names of files that don't exist. They are only an error if no earlier step writes them.
    """

    script: str
    folder: str
    uses: Sequence[FileUse]
    missing: Sequence[str] = ()
    missing_modules: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True)
class AdoptedSolver:
    """A solver with the folder in which it runs, its scripts, the verdicts on its parts, and the command that trains
    it."""

    solver: str
    folder: str
    scripts: Sequence[str]
    chain: Sequence[ChainLink]
    modules: Sequence[str]
    command: str

    @property
    def good(self) -> bool:
        """Whether everything that training needs is there. Python layers are only allowed when it starts."""
        return all(link.good or link.needs_code for link in self.chain)


@dataclass(frozen=True)
class Adoption:
    """What a project contains, how it is connected, and what to do.

    `edits` counts the changed lines by file, and `patch` is their file. `links` are the commands that replace the
    patch. The images in `linked_lists` need them too. `caffe` are the commands that let scripts find Caffe's programs
    and `import caffe`.
    """

    folder: str
    contents: Mapping[str, int]
    solvers: Sequence[AdoptedSolver]
    scripts: Sequence[AdoptedScript]
    unreadable: Sequence[str]
    edits: Mapping[str, int] = field(default_factory=dict)
    patch: str | None = None
    links: Sequence[str] = ()
    linked_lists: Sequence[str] = ()
    caffe: Sequence[str] = ()

    @property
    def good(self) -> bool:
        """Whether all solvers can train, after the edits."""
        return all(solver.good for solver in self.solvers)


@answers(AdoptRequest)
def adopt(request: AdoptRequest, listen: Listen) -> Adoption:
    """Read a project, check its solvers, and write the patch and the Caffe folder that the request names."""
    root = request.folder
    if not root.is_dir():
        raise DataError(
            f"{root}: there is no such folder; name the folder that contains the project's scripts and solvers"
        )
    with work(listen, "reading"):
        project = read_project(root.resolve())
        survey = _Survey(project)
    texts = edited_texts(project, survey.old_paths, survey.folders)
    patch = patch_of(project, texts)
    output = None
    if patch:
        output = request.output or f"{root.resolve().name}.patch"
        write_pieces(output, [patch.encode(errors="surrogateescape")])
    if request.caffe_folder is not None:
        write_caffe_folder(request.caffe_folder)
    with TemporaryDirectory(prefix="zoo-adopt-") as temporary, work(listen, "checking", len(survey.solvers)) as advance:
        changed = {name: text for name, text in texts.items() if name in project.solvers or name in project.nets}
        place = write_shadow(project, changed, Path(temporary, root.resolve().name)) if changed else project.root
        solvers = []
        for name in survey.solvers:
            solvers.append(survey.solver(name, place, root))
            advance()
    caffe = _CAFFE if request.caffe_folder is None else str(request.caffe_folder.absolute())
    return Adoption(
        str(root),
        survey.contents(),
        solvers,
        list(survey.scripts()),
        [reason for reason in project.other_prototxts.values() if reason],
        {name: _changed_lines(project.text(name), text) for name, text in texts.items()},
        output,
        [f"mkdir -p {Path(old).parent} && ln -s {project.root / new} {old}"
         for old, new in survey.old_paths.moved.items() if old.startswith("/")],
        [name for name in project.lists if survey.old_paths.current(project.first_path(name)) is not None],
        commands_for_caffe(project, survey.folders, caffe, survey.all_modules()),
    )  # fmt: skip


def _changed_lines(before: str, after: str) -> int:
    return sum(old != new for old, new in zip(before.split("\n"), after.split("\n"), strict=True))


class _Survey:
    """The connections between a project's files."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._nets = {name: _upgraded(net) for name, net in project.nets.items()}
        self._uses = {name: list(self._uses_of(name)) for name in (*project.shell_scripts, *project.python_scripts)}
        self.folders: dict[str, str] = {}  # the folder in which each script and solver runs, and to which paths refer
        for name, uses in self._uses.items():
            names = [use.name for use in uses if not use.role.startswith("new ")]
            self.folders[name] = self._working_folder(name, names, [])
        self.solvers = list(self._distinct_solvers())
        for name in self.solvers:
            names = [path for path, _ in self._paths_of(name)]
            self.folders[name] = self._working_folder(name, names, [self.folders[s] for s in self._scripts_of(name)])
        missing = [path for name in self.solvers for path, _ in self._paths_of(name)]
        missing += [use.name for uses in self._uses.values() for use in uses]
        self.old_paths = OldPaths.of(project, [path for path in missing if self._is_away(path)])
        for name in self.solvers:  # a net's paths refer to the folder of its solver
            for net in self._nets_of(name):
                self.folders.setdefault(net, self.folders[name])

    def _is_away(self, path: str) -> bool:
        """Return whether a path exists neither as it is nor in a folder in which something of the project runs."""
        return not any(exists(self._project, path, folder) for folder in {".", *self.folders.values()})

    def _uses_of(self, script: str) -> Iterator[FileUse]:
        for call in self._project.shell_scripts.get(script, ()):
            for role, name in call.files.items():
                yield FileUse(call.line, call.name, role, str(Path(call.folder) / name))
        found = self._project.python_scripts.get(script)
        for line, role, name in found.files if found else ():
            yield FileUse(line, "pycaffe", role, name)

    def _working_folder(self, name: str, paths: Sequence[str], preferred: Sequence[str]) -> str:
        """Return the folder, the file's own or one above, relative to which most paths exist."""
        candidates = [*preferred, *map(str, Path(name).parents)]
        return max(candidates, key=lambda folder: sum(exists(self._project, path, folder) for path in paths))

    def _distinct_solvers(self) -> Iterator[str]:
        """Yield the solvers. Of the links to one file, only those count that a script uses, or else the first."""
        by_file = dict[Path, list[str]]()
        for name in self._project.solvers:
            by_file.setdefault((self._project.root / name).resolve(), []).append(name)
        for names in by_file.values():
            used = [name for name in names if self._scripts_of(name)]
            yield from used or names[:1]

    def _scripts_of(self, solver: str) -> list[str]:
        return [
            script for script, uses in self._uses.items()
            if any(use.role == "solver" and self._place(use.name, self.folders[script]) == solver for use in uses)
        ]  # fmt: skip

    def _place(self, path: str, folder: str) -> str:
        """Return the place in the project of a path that a file in a folder names."""
        if exists(self._project, path, folder):
            return os.path.relpath(self._project.root / folder / path, self._project.root)
        old_paths = getattr(self, "old_paths", None)
        return (old_paths.current(path) if old_paths else None) or path

    def _nets_of(self, solver: str) -> list[str]:
        param, folder = self._project.solvers[solver], self.folders[solver]
        named = [name for name in (param.net, param.train_net, *param.test_net) if name]
        places = {self._place(name, where) for name in named for where in (folder, str(Path(solver).parent))}
        return [place for place in places if place in self._nets]

    def _paths_of(self, solver: str) -> Iterator[tuple[str, str]]:
        """Yield the paths that a solver and its nets name, with the file that names each."""
        param = self._project.solvers[solver]
        nets = [name for name in (param.net, param.train_net, *param.test_net) if name]
        yield from ((name, solver) for name in (*nets, *param.weights))
        if "/" in param.snapshot_prefix:
            yield param.snapshot_prefix.rpartition("/")[0], solver
        names = {Path(net).name for net in nets}
        for net in (each for each in self._nets if Path(each).name in names):
            for layer in self._nets[net].layer:
                files = [name for _, name in files_of_settings(layer)]
                yield from ((name, net) for name in [*files, *source_of(layer)])

    def solver(self, name: str, place: Path, root: Path) -> AdoptedSolver:
        """Return a solver with the verdicts on its parts, which are read at a place of the project's files."""
        folder = self.folders[name]
        path = os.path.relpath(name, folder)
        with chdir(place / folder):
            chain = list(check_chain(path))
        modules = self._modules(name)
        allowed = f" --allow-python {','.join(modules)}" if modules else ""
        where = os.path.normpath(root / folder)
        command = f"{'' if where == '.' else f'cd {where} && '}zoo train --solver {path}{allowed}"
        return AdoptedSolver(name, folder, self._scripts_of(name), chain, modules, command)

    def _modules(self, solver: str) -> list[str]:
        names = {python_name(layer) for net in self._nets_of(solver) for layer in self._nets[net].layer}
        return sorted({name.rpartition(".")[0] for name in names if name})

    def all_modules(self) -> list[str]:
        """Return the modules of Python layers that any solver's nets name."""
        return sorted({module for name in self.solvers for module in self._modules(name)})

    def scripts(self) -> Iterator[AdoptedScript]:
        """Yield the scripts that use Caffe."""
        own, made = self._project.modules(), {
            self._place(use.name, self.folders[script])
            for script, uses in self._uses.items() for use in uses if use.role.startswith("new ")
        }  # fmt: skip
        for name, uses in self._uses.items():
            script = self._project.python_scripts.get(name)
            if not uses and not (script and script.uses_caffe):
                continue
            missing = [
                self._with_hint(use.name) for use in uses
                if not use.role.startswith("new ") and self._place(use.name, self.folders[name]) not in made
                and not (self._project.root / self._place(use.name, self.folders[name])).exists()
                and not exists(self._project, use.name, self.folders[name])
            ]  # fmt: skip
            modules = script.missing_modules(own) if script else []
            yield AdoptedScript(name, self.folders[name], uses, missing, modules, script.problem if script else "")

    def _with_hint(self, path: str) -> str:
        """Return a missing path with the most similar file of the project, if one is similar."""
        names = {Path(name).name: name for name in self._project.files if Path(name).suffix == Path(path).suffix}
        near = get_close_matches(Path(path).name, names, 1)
        return f"{path} (did you mean {names[near[0]]}?)" if near and near[0] != Path(path).name else path

    def contents(self) -> dict[str, int]:
        """Return the number of files of each kind, by the kind's name for one file."""
        project = self._project
        return {
            "solver": len(self.solvers),
            "net": len(project.nets),
            "weights file": len(project.weights),
            "mean": len(project.means),
            "database": len(project.databases),
            "list": len(project.lists),
            "shell script": len(project.shell_scripts),
            "Python script": len(project.python_scripts),
            "Python layer": sum(len(script.layers) for script in project.python_scripts.values()),
        }


def _upgraded(net: pb.NetParameter) -> pb.NetParameter:
    """Return a net in today's form, or as it is if it can't be upgraded, which its check reports."""
    try:
        return upgrade_net(net).message
    except CaffeError:
        return net
