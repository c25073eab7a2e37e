"""The journal of a run: its saved states, from which it resumes to the same bits."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from caffe_proto.storage import atomic_path
from netdsl.errors import DistributedError

_WHOLE = "whole.json"
_NAME = re.compile(r"round-(\d{8})")


@dataclass(frozen=True)
class Retention:
    """The states that a journal keeps: the newest ones and the best one."""

    every: int = 1  # rounds between two states
    newest: int = 2  # how many of the newest states stay


class _Contents(msgspec.Struct, frozen=True):
    """The contents of `whole.json`, which is written last and makes an entry count."""

    round: int
    score: float | None  # of the last test; more is better
    files: dict[str, str]  # hashes by name


@dataclass(frozen=True)
class JournalEntry:
    """The state of a run after a round, in a folder. It counts if it has `whole.json`, with the other files' hashes."""

    path: Path
    contents: _Contents

    @property
    def round(self) -> int:
        """The number of the round."""
        return self.contents.round

    def is_whole(self) -> bool:
        """Whether all files of the entry are unchanged."""
        return all(_hash(self.path / name) == value for name, value in self.contents.files.items())


class Journal:
    """The entries of a run in a folder. All workers write their parts, and the first one completes the entry."""

    def __init__(self, folder: Path, retention: Retention) -> None:
        self.folder, self.retention = folder, retention

    def write(self, number: int, rank: int, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
        """Write one worker's part of an entry."""
        entry = self._entry_folder(number)
        try:
            entry.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{entry}: can't be made: {problem.strerror}") from None
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        with atomic_path(entry / f"worker-{rank}.npz") as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        with atomic_path(entry / f"worker-{rank}.json") as temporary:
            temporary.write_text(json.dumps(notes) + "\n")

    def complete(self, number: int, ranks: int, score: float | None) -> None:
        """Complete an entry, which has the parts of `ranks` workers, and remove old entries."""
        entry = self._entry_folder(number)
        names = [f"worker-{rank}.{kind}" for rank in range(ranks) for kind in ("npz", "json")]
        files = {name: _hash(entry / name) or "" for name in names}
        with atomic_path(entry / _WHOLE) as temporary:
            contents = msgspec.json.encode(_Contents(number, score, files))
            temporary.write_bytes(msgspec.json.format(contents, indent=1) + b"\n")
        self._remove_old(number)

    def newest(self) -> JournalEntry | None:
        """The newest entry that is whole."""
        return next((entry for entry in self._entries() if entry.is_whole()), None)

    def read(self, entry: JournalEntry, rank: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors and notes of a worker's part of an entry."""
        with np.load(entry.path / f"worker-{rank}.npz", allow_pickle=False) as arrays:
            tensors = {name: torch.from_numpy(arrays[name]) for name in arrays}
        return tensors, json.loads((entry.path / f"worker-{rank}.json").read_text())

    def _entry_folder(self, number: int) -> Path:
        return self.folder / f"round-{number:08d}"

    def _entries(self) -> Iterator[JournalEntry]:
        """All completed entries, the newest first."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.iterdir(), reverse=True):
            if _NAME.fullmatch(path.name) and (path / _WHOLE).exists():
                try:
                    contents = msgspec.json.decode((path / _WHOLE).read_bytes(), type=_Contents)
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue  # it isn't whole
                yield JournalEntry(path, contents)

    def _remove_old(self, number: int) -> None:
        """Remove all entries before a round but for the newest and the best.

        Parts of later rounds stay: they are from before a worker was lost, and are written again.
        """
        entries = list(self._entries())
        retained = {entry.path for entry in entries[: self.retention.newest]}
        scored = [entry for entry in entries if entry.contents.score is not None]
        if scored:
            retained.add(max(scored, key=lambda entry: entry.contents.score or 0.0).path)
        for path in self.folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match and int(match[1]) < number and path not in retained:
                shutil.rmtree(path, ignore_errors=True)


def _hash(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
