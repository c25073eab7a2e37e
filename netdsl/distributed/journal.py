"""The journal of a run: its saved states and its memberships. A resumed run reaches the same bits."""

from __future__ import annotations

import logging
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import Tensor

from caffe_proto.errors import FileError
from caffe_proto.storage import atomic_path, check_regular, file_hash, remove_leftovers, sync, write_pieces
from netdsl.errors import DistributedError
from netdsl.solver.snapshot_files import ResumePoint, first_whole

_log = logging.getLogger(__name__)

ROUNDS = "rounds"  # the journal's folder in a run's folder
WHOLE = "whole.json"
_NAME = re.compile(r"round-([0-9]{8})")
_VERSION = 2  # of `whole.json` and the tensors next to it; the first files had no number
_PARTS = ("npz", "json")  # the suffixes of each worker's files
_ARCHIVE = re.compile(r"worker-([0-9]{1,8})\.npz")
_FILE = "memberships.json"


@dataclass(frozen=True)
class Retention:
    """The states that a journal keeps: the newest ones and the best one."""

    every: int = 1  # rounds between two states
    newest: int = 2  # number of newest states that are kept


@dataclass(frozen=True)
class WorkerPart(ResumePoint):
    """The contents of a worker's part of an entry besides tensors."""

    current_step: int


class _Contents(msgspec.Struct, frozen=True):
    """The contents of `whole.json`, which is written last and makes an entry valid."""

    round: int
    score: float | None  # of the last test; higher is better
    files: dict[str, str]  # hashes by name
    version: int = 1
    members: tuple[int, ...] = ()  # the numbers of the workers that did the round; the first entries had none


@dataclass(frozen=True)
class JournalEntry:
    """The state of a run after a round, in a folder.

    The entry is valid only with a `whole.json`, which contains the hashes of the other files.
    """

    path: Path
    contents: _Contents

    @property
    def round(self) -> int:
        """The number of the round."""
        return self.contents.round

    @property
    def members(self) -> tuple[int, ...]:
        """The numbers of the workers that did the round, in the order of their ranks. The value is empty if they are
        unknown."""
        return self.contents.members

    @property
    def parts(self) -> list[int]:
        """The numbers of the workers whose parts the entry contains: all workers, or only the first one."""
        return _workers_of(self.contents)

    def check(self) -> None:
        """Raise a `DistributedError` unless all files of the entry are unchanged."""
        for name, value in self.contents.files.items():
            if file_hash(self.path / name) != value:
                what = (
                    "the file has changed since it was saved" if (self.path / name).exists() else "the file is missing"
                )
                raise DistributedError(f"{self.path / name}: {what}")


class Journal:
    """The entries of a run in a folder. All workers write their parts, and the first one completes the entry.

    The journal identifies a worker by its number, which stays the same when its rank changes because others leave or
    join.
    """

    def __init__(self, folder: Path, retention: Retention) -> None:
        self.folder, self.retention = folder, retention

    def write(self, after: int, worker: int, tensors: Mapping[str, Tensor], part: WorkerPart) -> None:
        """Write one worker's part of the entry after a round."""
        entry = self.entry_folder(after)
        try:
            for folder in (self.folder, entry):  # but not the run's own folder, which was moved if it isn't there
                folder.mkdir(exist_ok=True)
            sync(self.folder)
        except OSError as problem:
            raise DistributedError(
                f"{entry}: the folder can't be created: {problem.strerror}; choose a folder that you can write to, "
                "or free space there"
            ) from None
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        archive, notes = (entry / name for name in files_of_part(worker))
        with atomic_path(archive, nameless=True, durable=True) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        write_pieces(notes, [msgspec.json.encode(part) + b"\n"], durable=True)

    def complete(self, after: int, members: Sequence[int], parts: Sequence[int], score: float | None) -> None:
        """Complete the entry after a round with the parts of some workers, and remove old entries."""
        entry = self.entry_folder(after)
        remove_leftovers(entry)
        files = {}
        for name in (name for worker in parts for name in files_of_part(worker)):
            value = file_hash(entry / name)
            if value is None:
                raise DistributedError(
                    f"{entry / name}: the file can't be read; name a run folder on storage that all workers share"
                )
            files[name] = value
        contents = msgspec.json.encode(_Contents(after, score, files, _VERSION, tuple(members)))
        write_pieces(entry / WHOLE, [msgspec.json.format(contents, indent=1) + b"\n"], durable=True)
        _log.debug("round %d is saved in %s", after, entry)
        self._remove_old(after)

    def newest(self, note: Callable[[str], object] = lambda text: None) -> JournalEntry | None:
        """Return the newest valid entry, or `None` if there are no entries.

        Calls `note` for each newer entry that was skipped, with the reason. Raises a `DistributedError` if there are
        entries but none is valid, since the run would otherwise start from scratch.
        """
        entry, problems = first_whole(self._completed(), _open_whole_entry)
        _log.info("the newest whole round in %s is %s", self.folder, "none" if entry is None else entry.round)
        if entry is not None:
            for reason in problems:
                note(f"training resumes from round {entry.round}, because a newer entry is damaged: {reason}")
        elif problems:
            raise DistributedError(
                f"{self.folder}: all saved rounds are damaged: {'; '.join(problems)}; to start again, remove "
                "this folder"
            )
        return entry

    def after(self, number: int) -> JournalEntry | None:
        """Return the entry after a round, without checking its files again. Returns `None` before the first round."""
        return _open_entry(self.entry_folder(number)) if number else None

    def read_tensors(self, entry: JournalEntry, worker: int, only: Sequence[str] = ()) -> dict[str, Tensor]:
        """Return the tensors of a worker's part of an entry. By default, return all of them."""
        archive, _ = (entry.path / name for name in files_of_part(worker))
        try:
            with np.load(archive, allow_pickle=False) as arrays:
                return {name: torch.from_numpy(arrays[name]) for name in only or arrays}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as problem:
            raise _unreadable(entry, worker, problem) from None

    def read_part(self, entry: JournalEntry, worker: int) -> WorkerPart:
        """Return the contents of a worker's part of an entry besides tensors."""
        _, notes = (entry.path / name for name in files_of_part(worker))
        try:
            return msgspec.json.decode(notes.read_bytes(), type=WorkerPart)
        except (OSError, ValueError) as problem:
            raise _unreadable(entry, worker, problem) from None

    def entry_folder(self, number: int) -> Path:
        """Return the folder of the entry after a round."""
        return self.folder / f"round-{number:08d}"

    def _completed(self) -> list[Path]:
        """Return the folders of all completed entries, the newest first."""
        if not self.folder.is_dir():
            return []
        paths = sorted(self.folder.iterdir(), reverse=True)
        return [path for path in paths if _NAME.fullmatch(path.name) and (path / WHOLE).exists()]

    def _remove_old(self, number: int) -> None:
        """Remove all entries before a round, except for the newest and the best ones.

        Parts of later rounds stay. Workers wrote them before one of them was lost, and will write them again.
        """
        entries = []
        for path in self._completed():
            with suppress(DistributedError):
                entries.append(_open_entry(path))
        retained = {entry.path for entry in entries[: self.retention.newest]}
        scored = [entry for entry in entries if entry.contents.score is not None]
        if scored:
            retained.add(max(scored, key=lambda entry: entry.contents.score or 0.0).path)
        for path in self.folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match and int(match[1]) < number and path not in retained:
                shutil.rmtree(path, ignore_errors=True)


def files_of_part(worker: int) -> tuple[str, ...]:
    """Return the names of the files of a worker's part."""
    return tuple(f"worker-{worker}.{kind}" for kind in _PARTS)


def _workers_of(contents: _Contents) -> list[int]:
    """Return the numbers of the workers whose files an entry names."""
    matches = [_ARCHIVE.fullmatch(name) for name in contents.files]
    return sorted(int(match[1]) for match in matches if match)


def _unreadable(entry: JournalEntry, worker: int, problem: Exception) -> DistributedError:
    return DistributedError(f"{entry.path}: the part of worker {worker} can't be read: {problem}")


def _open_whole_entry(path: Path) -> JournalEntry:
    entry = _open_entry(path)
    entry.check()
    return entry


def _open_entry(path: Path) -> JournalEntry:
    """Return the entry in a folder. Raises a `DistributedError` if its `whole.json` is damaged."""
    file = path / WHOLE
    try:
        check_regular(file)
        contents = msgspec.json.decode(file.read_bytes(), type=_Contents)
    except FileError as problem:
        raise DistributedError(str(problem)) from None
    except (OSError, ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DistributedError(f"{file}: the file is damaged: {problem}; remove it, and resume the run") from None
    if contents.version != _VERSION:
        raise DistributedError(
            f"{file}: the file has version {contents.version}, which this release of netdsl can't read; resume "
            "the run with the release that wrote it"
        )
    parts = _workers_of(contents)
    names = {name for worker in parts for name in files_of_part(worker)}
    belong = not contents.members or parts in (sorted(contents.members), [contents.members[0]])
    if not (parts and belong and contents.files.keys() == names and path.name == f"round-{contents.round:08d}"):
        raise DistributedError(
            f"{file}: the file is damaged: it belongs to another round, or doesn't list all workers' parts; "
            "remove the entry's folder, and resume the run from the round before it"
        )
    return JournalEntry(path, contents)


class Membership(msgspec.Struct, frozen=True):
    """The workers that take part in the rounds after a given one, as numbers in the order of their ranks.

    A worker keeps its number as long as it lives. Its rank depends on which other workers take part.
    """

    after: int
    members: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.after < 0 or not self.members or list(self.members) != sorted({*self.members}) or self.members[0] < 0:
            raise DistributedError(
                f"workers {self.members} after round {self.after} are not a valid membership; list the numbers "
                "of the workers in ascending order, each once"
            )

    def names(self) -> str:
        """Return the workers' names for messages."""
        numbers = ", ".join(map(str, self.members))
        return f"worker {numbers}" if len(self.members) == 1 else f"workers {numbers}"

    def __str__(self) -> str:
        verb = "takes" if len(self.members) == 1 else "take"
        return f"from round {self.after + 1} on, {self.names()} {verb} part"


def read_memberships(folder: Path) -> tuple[Membership, ...]:
    """Return the memberships of the run in a folder, in the order of their rounds."""
    file = folder / _FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=tuple[Membership, ...])
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise DistributedError(
            f"{file}: the file can't be read: {problem.strerror}; check the path and its permissions"
        ) from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DistributedError(f"{file}: the file is damaged: {problem}; remove it, and resume the run") from None


def note_membership(folder: Path, membership: Membership) -> None:
    """Record which workers take part from a round on. Replaces later memberships, whose rounds are trained again."""
    before = tuple(each for each in read_memberships(folder) if each.after < membership.after)
    if not before or before[-1].members != membership.members:
        before = (*before, membership)
    data = msgspec.json.format(msgspec.json.encode(before), indent=1)
    write_pieces(folder / _FILE, [data + b"\n"], durable=True)


def members_after(memberships: Iterable[Membership], number: int) -> tuple[int, ...]:
    """Return the workers that take part in the round after the given one. Returns an empty tuple if they are
    unknown."""
    return next((each.members for each in reversed(tuple(memberships)) if each.after <= number), ())
