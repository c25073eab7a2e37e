"""The cache of simulated trials, so that no trial runs twice."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import torch

import caffe_proto
import netdsl
from caffe_proto.storage import atomic_path
from caffe_proto.text import prototxt
from netdsl.distributed.strategies.settings import text_of
from netdsl.errors import DistributedError
from zoo.simulating.trial import Trial, TrialOutcome


class TrialCache:
    """A folder with a JSON file for every trial, named by a hash of its settings and of the code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{folder}: can't be made: {problem.strerror}; name another --cache") from None

    def get(self, trial: Trial) -> TrialOutcome | None:
        """The outcome of a trial, or None if it isn't cached or the file is damaged."""
        try:
            return TrialOutcome.from_json(json.loads(self._path(trial).read_text()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, trial: Trial, outcome: TrialOutcome) -> None:
        """Store the outcome of a trial."""
        with atomic_path(self._path(trial)) as temporary:
            temporary.write_text(json.dumps(outcome.to_json()) + "\n")

    def _path(self, trial: Trial) -> Path:
        return self._folder / f"{key_of(trial)}.json"


def key_of(trial: Trial) -> str:
    """The cache key of a trial: a hash of its settings and of the code."""
    plan = vars(trial.plan) | {
        "solver": prototxt.text_of(trial.plan.solver),
        "strategy": text_of(trial.plan.strategy),
    }
    parts = [_code(), torch.__version__, sorted(plan.items()), trial.link, trial.machines, trial.goal]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def _code() -> str:
    """A hash of the source files that training depends on."""
    digest = hashlib.sha256()
    for package in (caffe_proto, netdsl):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
