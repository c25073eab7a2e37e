"""The journal of a run: its saved states, from which it resumes to the same bits."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable, Mapping
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

_WHOLE = "whole.json"
_NAME = re.compile(r"round-([0-9]{8})")
_VERSION = 1  # of `whole.json`; the first files had no number
_PARTS = ("npz", "json")  # the kinds of files of each worker


@dataclass(frozen=True)
class Retention:
    """The states that a journal keeps: the newest ones and the best one."""

    every: int = 1  # rounds between two states
    newest: int = 2  # how many of the newest states stay


class WorkerPart(ResumePoint, frozen=True):
    """What a worker's part of an entry has beside tensors."""

    current_step: int


class _Contents(msgspec.Struct, frozen=True):
    """The contents of `whole.json`, which is written last and makes an entry count."""

    round: int
    score: float | None  # of the last test; more is better
    files: dict[str, str]  # hashes by name
    version: int = _VERSION


@dataclass(frozen=True)
class JournalEntry:
    """The state of a run after a round, in a folder. It counts if it has `whole.json`, with the other files' hashes."""

    path: Path
    contents: _Contents

    @property
    def round(self) -> int:
        """The number of the round."""
        return self.contents.round

    @property
    def workers(self) -> int:
        """The number of workers whose parts the entry has."""
        return len(self.contents.files) // len(_PARTS)

    def check(self) -> None:
        """Raise a DistributedError unless all files of the entry are unchanged."""
        for name, value in self.contents.files.items():
            if file_hash(self.path / name) != value:
                what = "isn't what was saved" if (self.path / name).exists() else "is missing"
                raise DistributedError(f"{self.path / name}: {what}")


class Journal:
    """The entries of a run in a folder. All workers write their parts, and the first one completes the entry."""

    def __init__(self, folder: Path, retention: Retention) -> None:
        self.folder, self.retention = folder, retention

    def write(self, number: int, rank: int, tensors: Mapping[str, Tensor], part: WorkerPart) -> None:
        """Write one worker's part of an entry."""
        entry = self._entry_folder(number)
        try:
            entry.mkdir(parents=True, exist_ok=True)
            sync(self.folder)
        except OSError as problem:
            raise DistributedError(f"{entry}: can't be made: {problem.strerror}") from None
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        archive, notes = (entry / name for name in _names(rank))
        with atomic_path(archive, nameless=True, durable=True) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        write_pieces(notes, [msgspec.json.encode(part) + b"\n"], durable=True)

    def complete(self, number: int, ranks: int, score: float | None) -> None:
        """Complete an entry, which has the parts of `ranks` workers, and remove old entries."""
        entry = self._entry_folder(number)
        remove_leftovers(entry)
        files = {}
        for name in (name for rank in range(ranks) for name in _names(rank)):
            value = file_hash(entry / name)
            if value is None:
                raise DistributedError(f"{entry / name}: can't be read; do all workers see this folder?")
            files[name] = value
        contents = msgspec.json.encode(_Contents(number, score, files))
        write_pieces(entry / _WHOLE, [msgspec.json.format(contents, indent=1) + b"\n"], durable=True)
        self._remove_old(number)

    def newest(self, note: Callable[[str], object] = lambda text: None) -> JournalEntry | None:
        """The newest entry that is whole; None if there are no entries.

        `note` is told which newer ones were passed over, and why. If none is whole, that is an error, since the run
        would begin anew.
        """
        entry, problems = first_whole(self._completed(), _open_whole_entry)
        if entry is not None:
            for reason in problems:
                note(f"the run goes on from round {entry.round}, for a newer one is damaged: {reason}")
        elif problems:
            raise DistributedError(
                f"{self.folder}: none of the saved rounds is whole: {'; '.join(problems)}; to begin anew, remove this "
                "folder"
            )
        return entry

    def read(self, entry: JournalEntry, rank: int) -> tuple[dict[str, Tensor], WorkerPart]:
        """The tensors of a worker's part of an entry, and the rest of it."""
        if rank >= entry.workers:
            raise DistributedError(f"{entry.path}: has the parts of {entry.workers} workers, and none of worker {rank}")
        archive, notes = (entry.path / name for name in _names(rank))
        try:
            with np.load(archive, allow_pickle=False) as arrays:
                tensors = {name: torch.from_numpy(arrays[name]) for name in arrays}
            return tensors, msgspec.json.decode(notes.read_bytes(), type=WorkerPart)
        except (OSError, ValueError, zipfile.BadZipFile) as problem:
            raise DistributedError(f"{entry.path}: the part of worker {rank} can't be read: {problem}") from None

    def _entry_folder(self, number: int) -> Path:
        return self.folder / f"round-{number:08d}"

    def _completed(self) -> list[Path]:
        """The folders of all entries that were completed, the newest first."""
        if not self.folder.is_dir():
            return []
        paths = sorted(self.folder.iterdir(), reverse=True)
        return [path for path in paths if _NAME.fullmatch(path.name) and (path / _WHOLE).exists()]

    def _remove_old(self, number: int) -> None:
        """Remove all entries before a round but for the newest and the best.

        Parts of later rounds stay: they are from before a worker was lost, and are written again.
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


def _names(rank: int) -> tuple[str, ...]:
    """The names of the files of a worker's part."""
    return tuple(f"worker-{rank}.{kind}" for kind in _PARTS)


def _open_whole_entry(path: Path) -> JournalEntry:
    entry = _open_entry(path)
    entry.check()
    return entry


def _open_entry(path: Path) -> JournalEntry:
    """The entry in a folder; a DistributedError if its `whole.json` is damaged."""
    file = path / _WHOLE
    try:
        check_regular(file)
        contents = msgspec.json.decode(file.read_bytes(), type=_Contents)
    except FileError as problem:
        raise DistributedError(str(problem)) from None
    except (OSError, ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DistributedError(f"{file}: is damaged: {problem}") from None
    if contents.version != _VERSION:
        raise DistributedError(f"{file}: is of version {contents.version}, which this netdsl doesn't read")
    workers = len(contents.files) // len(_PARTS)
    names = {name for rank in range(workers) for name in _names(rank)}
    if not workers or contents.files.keys() != names or path.name != f"round-{contents.round:08d}":
        raise DistributedError(f"{file}: is damaged: it isn't that of this round, or lacks workers' parts")
    return JournalEntry(path, contents)
