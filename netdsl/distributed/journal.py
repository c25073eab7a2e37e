"""The states of a run, so that it goes on to the same bits after whatever ended it."""

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
class Keeping:
    """What the journal keeps: a state after every so many rounds, of which the newest stay, and the best one."""

    every: int = 1
    newest: int = 2


class _Contents(msgspec.Struct, frozen=True):
    """The file that makes an entry whole."""

    round: int
    score: float | None  # of the last test; more is better
    files: dict[str, str]  # hashes by name


@dataclass(frozen=True)
class JournalEntry:
    """The state after a round. It is there if `whole.json` is, which has the hashes of all other files."""

    path: Path
    contents: _Contents

    @property
    def round(self) -> int:
        """The number of the round."""
        return self.contents.round

    def is_whole(self) -> bool:
        """Whether all its files are what was written."""
        return all(_hash(self.path / name) == value for name, value in self.contents.files.items())


class Journal:
    """Entries in a folder. All workers write theirs, and the first one says when they are complete."""

    def __init__(self, folder: Path, keeping: Keeping) -> None:
        self.folder, self.keeping = folder, keeping

    def write(self, number: int, rank: int, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
        """One worker's part of an entry."""
        place = self._place(number)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{place}: can't be made: {problem.strerror}") from None
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        with atomic_path(place / f"worker-{rank}.npz") as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        with atomic_path(place / f"worker-{rank}.json") as temporary:
            temporary.write_text(json.dumps(notes) + "\n")

    def complete(self, number: int, ranks: int, score: float | None) -> None:
        """The parts of so many workers are there: the entry counts from now on, and old ones go."""
        place = self._place(number)
        names = [f"worker-{rank}.{kind}" for rank in range(ranks) for kind in ("npz", "json")]
        files = {name: _hash(place / name) or "" for name in names}
        with atomic_path(place / _WHOLE) as temporary:
            contents = msgspec.json.encode(_Contents(number, score, files))
            temporary.write_bytes(msgspec.json.format(contents, indent=1) + b"\n")
        self._forget(number)

    def newest(self) -> JournalEntry | None:
        """The newest entry that is whole."""
        return next((entry for entry in self._entries() if entry.is_whole()), None)

    def read(self, entry: JournalEntry, rank: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """A worker's part: tensors and notes."""
        with np.load(entry.path / f"worker-{rank}.npz", allow_pickle=False) as arrays:
            tensors = {name: torch.from_numpy(arrays[name]) for name in arrays}
        return tensors, json.loads((entry.path / f"worker-{rank}.json").read_text())

    def _place(self, number: int) -> Path:
        return self.folder / f"round-{number:08d}"

    def _entries(self) -> Iterator[JournalEntry]:
        """The newest first."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.iterdir(), reverse=True):
            if _NAME.fullmatch(path.name) and (path / _WHOLE).exists():
                try:
                    contents = msgspec.json.decode((path / _WHOLE).read_bytes(), type=_Contents)
                except msgspec.MsgspecError:
                    continue  # it isn't whole
                yield JournalEntry(path, contents)

    def _forget(self, number: int) -> None:
        """Keep the newest and the best; parts of later rounds are from before somebody was lost."""
        entries = list(self._entries())
        kept = {entry.path for entry in entries[: self.keeping.newest]}
        scored = [entry for entry in entries if entry.contents.score is not None]
        if scored:
            kept.add(max(scored, key=lambda entry: entry.contents.score or 0.0).path)
        for path in self.folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match and int(match[1]) < number and path not in kept:
                shutil.rmtree(path, ignore_errors=True)


def _hash(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
