"""The starts of a run: the commands that started and resumed it, with the machine and the versions of each start."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from caffe_proto.storage import write_pieces
from netdsl.errors import DistributedError

STARTS = "starts.json"  # in the run's folder

_PACKAGES = ("netdsl", "torch", "numpy", "protobuf")
_LONGEST = 1 << 20  # bytes of a git file that contains a commit


class RunStart(msgspec.Struct, frozen=True):
    """One start of a run, by the process that supervises it."""

    time: float  # seconds since 1970
    command: tuple[str, ...]
    folder: str  # where the command ran
    python: str
    versions: dict[str, str]
    system: str
    cores: int
    gpus: tuple[str, ...]
    commit: str | None  # of the repository that contains the folder


def note_start(run: Path, command: Sequence[str]) -> None:
    """Add a start by this process, with the current time, to the starts of a run."""
    import torch

    gpus = tuple(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
    here = Path.cwd()
    start = RunStart(
        time.time(),
        tuple(word.encode("utf-8", "replace").decode() for word in command),
        str(here),
        platform.python_version(),
        {name: _version(name) for name in _PACKAGES},
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        os.cpu_count() or 1,
        gpus,
        commit_of(here),
    )
    data = msgspec.json.encode([*read_starts(run), start])
    write_pieces(run / STARTS, [msgspec.json.format(data, indent=1) + b"\n"])


def read_starts(run: Path) -> list[RunStart]:
    """Return all starts of a run, the first one first. Returns an empty list if the run doesn't record starts."""
    file = run / STARTS
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[RunStart])
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise DistributedError(
            f"{file}: the file can't be read: {problem.strerror}; check the path and its permissions"
        ) from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DistributedError(f"{file}: the file is damaged: {problem}; remove it, then resume the run") from None


def commit_of(folder: Path) -> str | None:
    """Return the commit that is checked out in the git repository around a folder, or `None` outside repositories.

    Reads git's files and doesn't execute anything.
    """
    for parent in (folder, *folder.parents):
        mark = parent / ".git"
        if mark.is_file():  # a worktree has a file that names git's folder
            return _head(parent / _text_of_file(mark).removeprefix("gitdir:").strip())
        if mark.is_dir():
            return _head(mark)
    return None


def _head(git: Path) -> str | None:
    head = _text_of_file(git / "HEAD")
    if not head.startswith("ref:"):
        return _hash(head)
    name = head.removeprefix("ref:").strip()
    common = git / (_text_of_file(git / "commondir") or ".")
    loose = next(filter(None, (_text_of_file(place / name) for place in (git, common))), "")
    packed = [line.split() for line in _text_of_file(common / "packed-refs").splitlines()]
    return _hash(loose or next((words[0] for words in packed if words[1:] == [name]), ""))


def _hash(text: str) -> str | None:
    return text if 40 <= len(text) <= 64 and set(text) <= set("0123456789abcdef") else None


def _text_of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # netdsl runs from its sources
        return "unknown"
