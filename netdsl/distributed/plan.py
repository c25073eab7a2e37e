"""A run with several workers: all that each must know to take part, in files of the run's folder."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, Form, read_solver, write
from caffe_proto.storage import atomic_path
from netdsl.distributed.strategies.settings import parse, text_of
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DistributedError
from netdsl.net.graph import Phase
from netdsl.solver.nets import inline_nets
from netdsl.tables.table import Table

_PLAN, _SOLVER = "run.json", "solver.prototxt"


@dataclass(frozen=True)
class Keeping:
    """What the journal keeps: a state after every so many rounds, of which the newest stay, and the best one."""

    every: int = 1
    newest: int = 2


@dataclass(frozen=True)
class Plan:
    """A run of `size` workers. The settings have their nets in them, and a random seed."""

    param: pb.SolverParameter
    strategy: Strategy
    size: int
    folder: str = "."  # which the names of files begin from
    weights: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu",)  # worker i has the i-th, and again from the first
    precision: str = "float32"
    compiled: bool = False
    decoders: int = 1  # threads of each worker that decode data
    skip_bad: bool = False
    threads: int = 1  # that each worker computes with
    tables: Mapping[Phase, Table] = field(default_factory=dict)  # in the place of what the nets themselves read
    deadline: float = 120.0  # seconds without a sign of life, after which a worker counts as lost
    keeping: Keeping = field(default_factory=Keeping)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise DistributedError(f"{self.size} workers; there must be one at least")

    def save(self, run: Path) -> None:
        """Begin a run in a folder, which it makes."""
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{run}: can't be made: {problem.strerror}") from None
        if (run / _PLAN).exists():
            raise DistributedError(f"{run}: has a run already; resume it, or name another folder")
        write(CaffeFile(self.param, form=Form.TEXT), run / _SOLVER)
        values = {name: value for name, value in vars(self).items() if name != "param"}
        values |= {"strategy": text_of(self.strategy), "keeping": vars(self.keeping)}
        values["tables"] = {phase.name: asdict(table) for phase, table in self.tables.items()}
        with atomic_path(run / _PLAN) as temporary:
            temporary.write_text(json.dumps(values, indent=1) + "\n")

    @classmethod
    def load(cls, run: Path) -> Plan:
        """The plan of a run that was begun."""
        path = run / _PLAN
        try:
            values: dict[str, Any] = json.loads(path.read_text())
            values |= {"strategy": parse(values["strategy"]), "keeping": Keeping(**values["keeping"])}
            values |= {name: tuple(values[name]) for name in ("weights", "devices")}
            values["tables"] = {Phase[name]: Table(**table) for name, table in values["tables"].items()}
            return cls(read_solver(run / _SOLVER).message, **values)
        except OSError as problem:
            raise DistributedError(f"{path}: can't be read: {problem.strerror}; does a run begin there?") from None
        except (ValueError, KeyError, TypeError) as problem:
            raise DistributedError(f"{path}: is damaged: {problem}") from None


def settled(plan: Plan) -> Plan:
    """The same plan with all that a run must fix to be repeated: nets in the settings, and a random seed."""
    param = inline_nets(plan.param, Path(plan.folder))
    if param.random_seed < 0:
        param.random_seed = random.randrange(2**31)
    weights = [*param.weights, *plan.weights]
    param.ClearField("weights")
    return replace(plan, param=param, weights=tuple(weights), folder=str(Path(plan.folder).resolve()))
