"""The files of a snapshot: Caffe's two, and a resume file with their hashes and all that Caffe doesn't save."""

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
_WITHOUT_IT = "remove it to resume without it, although not to the same bits"


@dataclass(frozen=True)
class _Hashes:
    model: str
    state: str


@dataclass(frozen=True)
class RandomStates:
    """The states of the random number generators of the CPU and of each GPU, in base64."""

    cpu: str
    cuda: list[str]


@dataclass(frozen=True)
class PackedTensor:
    """A tensor as text. The bytes of its values are in base64."""

    shape: list[int]
    type: str
    values: str


KeptStates = dict[str, dict[str, PackedTensor]]  # by layer name, then by the name of a part of the layer's state


@dataclass(frozen=True)
class ResumePoint:
    """The parts of a solver's place that Caffe's state lacks.

    These are the positions in the data of all nets, the states of random number generators, and the loss scale. `kept`
    is the state that layers such as recurrent ones carry from batch to batch, for the trained net and then for the test
    nets. It is empty in snapshots of versions that didn't save it, and these layers then start from scratch.
    """

    iteration: int
    data: dict[str, int]
    test_data: list[dict[str, int]]
    random: RandomStates
    loss_scale: list[float] = field(default_factory=list, kw_only=True)  # only in float16
    kept: list[KeptStates] = field(default_factory=list, kw_only=True)


@dataclass(frozen=True)
class SavedPoint(ResumePoint):
    """A resume point, saved with weights that are in the form for use.

    `trained` contains, in base64, the values that the blobs of some layers had during training. It is `None` in
    snapshots of versions that saved all weights in their training form.
    """

    trained: dict[str, list[str]] | None = None


@dataclass(frozen=True)
class Snapshot:
    """A snapshot whose files are undamaged, as far as can be checked."""

    file: CaffeFile[pb.SolverState]
    model: Path | None
    point: SavedPoint | None
    notice: str = ""  # a notice for the user


def resume_path_of(state: Path) -> Path:
    """Return the path of the resume file that belongs to a state."""
    return state.with_name(state.name.partition(".solverstate")[0] + _RESUME_SUFFIX)


def write_resume_file(state: Path, model: Path, point: SavedPoint) -> None:
    """Write the resume file, with the hashes of the other files on disk, and one of its own contents."""
    content = {**asdict(point), "files": {"model": file_hash(model), "state": file_hash(state)}}
    content["hash"] = _own_hash(content)
    write_pieces(resume_path_of(state), [(json.dumps(content, indent=1) + "\n").encode()], durable=True)


def open_snapshot(path: Path) -> Snapshot:
    """Open the snapshot of a state. Raises a `SolverError` if a hash doesn't match or a file can't be read."""
    resume = resume_path_of(path)
    content = _read_resume_file(resume) if resume.exists() else None
    hashes = None if content is None else _hashes_of(content, resume)
    if hashes is not None:
        check_regular(path)
        if file_hash(path) != hashes.state:
            raise SolverError(
                f"{path}: the file is damaged: its hash differs from the one in {resume.name}, so resume from "
                "another snapshot"
            )
    file = _read_state(path)
    model = _model_of(file.message, path, hashes)
    point = None if content is None else _point_of(content, file.message, resume)
    notice = "" if hashes else (
        f"snapshot {path} has no hashes, so it can't be checked; Caffe or an older version wrote it"
    )  # fmt: skip
    return Snapshot(file, model, point, notice)


def newest(prefix: str, note: Callable[[str], object] = lambda text: None) -> Path | None:
    """Return the state with the most iterations among the undamaged snapshots of a prefix, or `None` if there are none.

    Calls `note` for each newer snapshot that was skipped, with the reason. Raises a `SolverError` if all snapshots are
    damaged, since training would otherwise start from scratch.
    """
    folder = Path(prefix).parent
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return newest_of(prefix, (folder / name for name in states_among(names, Path(prefix).name)), note)


def newest_of(prefix: str, states: Iterable[Path], note: Callable[[str], object]) -> Path | None:
    """Return the first state of a prefix whose snapshot is undamaged, as `newest` does. The next one is only looked at
    if it is needed."""
    path, problems = first_whole(states, _check_snapshot)
    if path is None and problems:
        raise SolverError(
            f"all snapshots of '{prefix}' are damaged: {'; '.join(problems)}; to start again, remove them or "
            "choose another snapshot_prefix"
        )
    for reason in problems:
        note(f"skipped a snapshot: {reason}")
    return path


def first_whole(paths: Iterable[Path], open_saved: Callable[[Path], Saved]) -> tuple[Saved | None, list[str]]:
    """Return the first saved state that can be opened, and the problems of those before it.

    Returns `None` as the state if none can be opened.
    """
    problems: list[str] = []
    for path in paths:
        try:
            return open_saved(path), problems
        except CaffeError as problem:
            problems.append(str(problem))
    return None, problems


def _check_snapshot(path: Path) -> Path:
    """Return the path of a state. Raises a `SolverError` if its snapshot is damaged or has no weights."""
    if open_snapshot(path).model is None:
        raise SolverError(
            f"{path}: the state names no weights; resume from another .solverstate, or with --snapshot auto"
        )
    return path


def states_among(names: Iterable[str], prefix: str) -> list[str]:
    """Return the names of states that begin with a prefix, ordered from most to fewest iterations."""
    start, states = f"{prefix}_iter_", list[tuple[int, str]]()
    for name in names:
        match = _NUMBER.fullmatch(name.removeprefix(start)) if name.startswith(start) else None
        if match:
            states.append((int(match[1]), name))
    return [name for _, name in sorted(states, reverse=True)]


def _read_state(path: Path) -> CaffeFile[pb.SolverState]:
    file = read(path)
    if not isinstance(file.message, pb.SolverState):
        raise SolverError(f"{path}: not the state of a solver; if it is a model, use --weights")
    return file  # type: ignore[return-value]  # narrowed by the line above


def _model_of(state: pb.SolverState, path: Path, hashes: _Hashes | None) -> Path | None:
    """Return the model that a state names.

    The model is at that path, or next to the state if both were moved or renamed together.
    """
    if not state.HasField("learned_net"):
        return None
    name, same_name = state.learned_net, path.with_name(path.name.replace(".solverstate", ".caffemodel"))
    candidates = list(dict.fromkeys([Path(name), path.parent / Path(name).name, same_name]))
    models = [candidate for candidate in candidates if _exists(candidate)]
    if not models:
        raise SolverError(
            f"{path}: the weights of this state are neither at {' nor at '.join(map(str, candidates))}; copy them "
            "to one of these paths"
        )
    if hashes is None:
        read_net(models[0])
        return models[0]
    model = next((candidate for candidate in models if file_hash(candidate) == hashes.model), None)
    if model is None:
        raise SolverError(
            f"{models[0]}: the file is damaged: its hash differs from the one in {resume_path_of(path).name}, "
            "so resume from another snapshot"
        )
    return model


def _exists(path: Path) -> bool:
    """Return whether a file exists. A damaged state may contain a name that no file can have."""
    try:
        return path.exists()
    except OSError:
        return False


def _read_resume_file(path: Path) -> dict[str, Any]:
    try:
        check_regular(path)
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError, FileError) as problem:
        raise SolverError(f"{path}: the file can't be read ({problem}); {_WITHOUT_IT}") from None
    if not isinstance(content, dict):
        raise SolverError(f"{path}: the file isn't a JSON object; {_WITHOUT_IT}")
    return content


def _hashes_of(content: dict[str, Any], path: Path) -> _Hashes | None:
    """Return the hashes in a resume file, or `None` if an older version wrote the file without hashes."""
    if "hash" not in content and "files" not in content:
        return None
    if content.get("hash") != _own_hash(content):
        raise SolverError(f"{path}: the file is damaged: its contents don't match its own hash; {_WITHOUT_IT}")
    return _checked(content.get("files"), _Hashes, path)


def _own_hash(content: Mapping[str, Any]) -> str:
    """Return the hash of a resume file's contents except for the hash itself."""
    others = {name: value for name, value in content.items() if name != "hash"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _point_of(content: dict[str, Any], state: pb.SolverState, path: Path) -> SavedPoint:
    if content.get("iteration") != state.iter:
        raise SolverError(
            f"{path}: the file belongs to iteration {content.get('iteration')}, but the state to iteration "
            f"{state.iter}; {_WITHOUT_IT}"
        )
    return _checked(content, SavedPoint, path)


def _checked(content: Any, kind: type[Content], path: Path) -> Content:
    """Convert the contents of a resume file to a type. Raises a `SolverError` if a field is missing or invalid."""
    import msgspec  # imported here, so that nets can be trained without msgspec

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        raise SolverError(f"{path}: the file is damaged ({problem}); {_WITHOUT_IT}") from None
