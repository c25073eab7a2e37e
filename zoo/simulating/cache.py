"""What was trained, kept in a folder, so that nothing is trained twice."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import torch

import caffe_proto
import netdsl
from caffe_proto.storage import atomic_path
from netdsl.distributed.strategies.settings import text_of
from netdsl.errors import DistributedError
from zoo.simulating.trial import Outcome, Trial

DEFAULT = Path("~/.cache/netdsl/simulate")


class Cache:
    """A JSON file for every trial, called by a hash of its settings and of the code that trains."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{folder}: can't be made: {problem.strerror}; name another --cache") from None

    def get(self, trial: Trial) -> Outcome | None:
        """What came out, if it is here and not damaged."""
        try:
            return Outcome.from_json(json.loads(self._path(trial).read_text()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, trial: Trial, outcome: Outcome) -> None:
        """Keep what came out."""
        with atomic_path(self._path(trial)) as temporary:
            temporary.write_text(json.dumps(outcome.to_json()) + "\n")

    def _path(self, trial: Trial) -> Path:
        return self._folder / f"{key_of(trial)}.json"


def key_of(trial: Trial) -> str:
    """The same for the same settings and code."""
    plan = vars(trial.plan) | {
        "param": trial.plan.param.SerializeToString(deterministic=True).hex(),
        "strategy": text_of(trial.plan.strategy),
    }
    words = [_code(), torch.__version__, sorted(plan.items()), trial.link, trial.machines, trial.goal]
    return hashlib.sha256(repr(words).encode()).hexdigest()


@cache
def _code() -> str:
    """A hash of the sources that training depends on."""
    found = hashlib.sha256()
    for package in (caffe_proto, netdsl):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()
