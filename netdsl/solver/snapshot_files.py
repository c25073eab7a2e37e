"""A snapshot's files: Caffe's two, and one of ours with their hashes and what Caffe doesn't save."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, FileError
from caffe_proto.files import CaffeFile, read, read_net
from caffe_proto.storage import check_regular, file_hash, write_pieces
from netdsl.errors import SolverError

_RESUME_SUFFIX = ".resume.json"
Saved = TypeVar("Saved")
Content = TypeVar("Content")

_NUMBER = re.compile(r"([0-9]{1,18})\.solverstate(\.h5)?")
_WITHOUT_IT = "if you remove it, training resumes, but not to the same bits"


@dataclass(frozen=True)
class _Hashes:
    model: str
    state: str


@dataclass(frozen=True)
class RandomStates:
    """The states of the random numbers of the processor and of each GPU, in base64."""

    cpu: str
    cuda: list[str]


@dataclass(frozen=True)
class PackedTensor:
    """A tensor in text: its values' bytes in base64."""

    shape: list[int]
    type: str
    values: str


KeptStates = dict[str, dict[str, PackedTensor]]  # by the names of layers, and those of a state's parts


@dataclass(frozen=True)
class ResumePoint:
    """What Caffe's state lacks: positions in the data of all nets, the random numbers' states, the loss scale.

    `kept` has what layers carry from batch to batch, as recurrent ones do: of the net that is trained, and then of
    those for tests. It is empty in snapshots of versions that didn't save it; these layers then begin from scratch.
    """

    iteration: int
    data: dict[str, int]
    test_data: list[dict[str, int]]
    random: RandomStates
    loss_scale: list[float] = field(default_factory=list, kw_only=True)  # in float16 only
    kept: list[KeptStates] = field(default_factory=list, kw_only=True)


@dataclass(frozen=True)
class SavedPoint(ResumePoint):
    """A resume point beside weights that are saved as they are used.

    `trained` has the values, in base64, that the blobs of some layers had in training. It is None in snapshots of
    versions that saved all weights as they were trained.
    """

    trained: dict[str, list[str]] | None = None


@dataclass(frozen=True)
class Snapshot:
    """A snapshot whose files are whole, as far as that can be told."""

    file: CaffeFile[pb.SolverState]
    model: Path | None
    point: SavedPoint | None
    notice: str = ""  # what a user should know about it


def resume_path_of(state: Path) -> Path:
    """Return the path of the resume file that belongs to a state."""
    return state.with_name(state.name.partition(".solverstate")[0] + _RESUME_SUFFIX)


def write_resume_file(state: Path, model: Path, point: SavedPoint) -> None:
    """Write the resume file, with the hashes of the other files as they are on the disk, and one of itself."""
    content = {**asdict(point), "files": {"model": file_hash(model), "state": file_hash(state)}}
    content["hash"] = _own_hash(content)
    write_pieces(resume_path_of(state), [(json.dumps(content, indent=1) + "\n").encode()], durable=True)


def open_snapshot(path: Path) -> Snapshot:
    """Return the snapshot of a state. Damage is a SolverError, if there are hashes or a file can't be read."""
    resume = resume_path_of(path)
    content = _read_resume_file(resume) if resume.exists() else None
    hashes = None if content is None else _hashes_of(content, resume)
    if hashes is not None:
        check_regular(path)
        if file_hash(path) != hashes.state:
            raise SolverError(f"{path}: is damaged: it isn't what {resume.name} says that was saved")
    file = _read_state(path)
    model = _model_of(file.message, path, hashes)
    point = None if content is None else _point_of(content, file.message, resume)
    notice = "" if hashes else (
        f"snapshot {path} has no hashes: it is Caffe's own, or from an older version; it can't be checked"
    )  # fmt: skip
    return Snapshot(file, model, point, notice)


def newest(prefix: str, note: Callable[[str], object] = lambda text: None) -> Path | None:
    """Return the state with the most iterations among the whole snapshots of a prefix; None if there are no snapshots.

    `note` is told which newer ones were passed over, and why. If none is whole, that is an error, since training would
    begin from scratch.
    """
    path, problems = first_whole(_states(prefix), _check_snapshot)
    if path is None and problems:
        raise SolverError(
            f"no snapshot of '{prefix}' is whole: {'; '.join(problems)}; to begin again, remove them or name another "
            "snapshot_prefix"
        )
    for reason in problems:
        note(f"a snapshot is passed over: {reason}")
    return path


def first_whole(paths: Iterable[Path], open_saved: Callable[[Path], Saved]) -> tuple[Saved | None, list[str]]:
    """Return the first of what was saved that can be opened, None if nothing can, and what is wrong with those before
    it."""
    problems: list[str] = []
    for path in paths:
        try:
            return open_saved(path), problems
        except CaffeError as problem:
            problems.append(str(problem))
    return None, problems


def _check_snapshot(path: Path) -> Path:
    """Return the path of a state, if its snapshot is whole and has weights."""
    if open_snapshot(path).model is None:
        raise SolverError(f"{path}: names no weights")
    return path


def _states(prefix: str) -> list[Path]:
    """Return the states of a prefix, that with the most iterations first."""
    folder, start = Path(prefix).parent, f"{Path(prefix).name}_iter_"
    states = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _NUMBER.fullmatch(path.name.removeprefix(start)) if path.name.startswith(start) else None
        if match:
            states[int(match[1]), path.name] = path
    return [states[key] for key in sorted(states, reverse=True)]


def _read_state(path: Path) -> CaffeFile[pb.SolverState]:
    file = read(path)
    if not isinstance(file.message, pb.SolverState):
        raise SolverError(f"{path}: is not the state of a solver; a model is for --weights")
    return file  # type: ignore[return-value]  # narrowed by the line above


def _model_of(state: pb.SolverState, path: Path, hashes: _Hashes | None) -> Path | None:
    """Return the model that a state names: at that path, or beside the state, as when both were moved or renamed
    together."""
    if not state.HasField("learned_net"):
        return None
    name, same_name = state.learned_net, path.with_name(path.name.replace(".solverstate", ".caffemodel"))
    candidates = list(dict.fromkeys([Path(name), path.parent / Path(name).name, same_name]))
    models = [candidate for candidate in candidates if _exists(candidate)]
    if not models:
        raise SolverError(f"{path}: its weights are neither at {' nor at '.join(map(str, candidates))}")
    if hashes is None:
        read_net(models[0])
        return models[0]
    model = next((candidate for candidate in models if file_hash(candidate) == hashes.model), None)
    if model is None:
        raise SolverError(f"{models[0]}: is damaged: it isn't what {resume_path_of(path).name} says that was saved")
    return model


def _exists(path: Path) -> bool:
    """Return whether there is a file; a damaged state may name what can't be the name of one."""
    try:
        return path.exists()
    except OSError:
        return False


def _read_resume_file(path: Path) -> dict[str, Any]:
    try:
        check_regular(path)
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError, FileError) as problem:
        raise SolverError(f"{path}: can't be read ({problem}); {_WITHOUT_IT}") from None
    if not isinstance(content, dict):
        raise SolverError(f"{path}: isn't a JSON object; {_WITHOUT_IT}")
    return content


def _hashes_of(content: dict[str, Any], path: Path) -> _Hashes | None:
    """Return the hashes in a resume file; None if it is from a version that wrote none."""
    if "hash" not in content and "files" not in content:
        return None
    if content.get("hash") != _own_hash(content):
        raise SolverError(f"{path}: is damaged: its own hash is another; {_WITHOUT_IT}")
    return _checked(content.get("files"), _Hashes, path)


def _own_hash(content: Mapping[str, Any]) -> str:
    """Return the hash of everything else that a resume file has."""
    others = {name: value for name, value in content.items() if name != "hash"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _point_of(content: dict[str, Any], state: pb.SolverState, path: Path) -> SavedPoint:
    if content.get("iteration") != state.iter:
        raise SolverError(f"{path}: is of iteration {content.get('iteration')}, the state of {state.iter}")
    return _checked(content, SavedPoint, path)


def _checked(content: Any, kind: type[Content], path: Path) -> Content:
    """Return what a resume file has, as an object, if it has everything in its type."""
    import msgspec  # here, so that nets can be trained where it isn't

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        raise SolverError(f"{path}: is damaged ({problem}); {_WITHOUT_IT}") from None
