"""The contents of a run's folder for a report: the run, its plan, starts, records, log and newest weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from caffe_proto.errors import FileError
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import EVENTS, RoundRecord, read_records
from netdsl.distributed.run_starts import RunStart, read_starts
from netdsl.distributed.run_worker import MODEL
from netdsl.errors import DistributedError, PlanError
from netdsl.model.model import Model
from netdsl.planner.plan import Plan, read_plan
from netdsl.planner.planned_run import PLAN
from netdsl.solver.events import read_event_log
from netdsl.solver.settings import SolverSettings
from netdsl.solver.snapshot_files import newest, open_snapshot
from zoo.accuracy import Baseline
from zoo.logs.summary import RunSummary, summarize
from zoo.report.tuned_model import TunedModel, read_tuned_model

Points = dict[float, float]  # by iteration, since repeated iterations replace the earlier ones


@dataclass(frozen=True)
class RecordedRun:
    """A run with at least one complete round, as stored in its folder."""

    folder: Path
    run: Run
    starts: tuple[RunStart, ...]
    records: tuple[RoundRecord, ...]
    events: tuple[Mapping[str, Any], ...]
    plan: Plan | None = None
    tuned: TunedModel | None = None  # the model that the run makes, if it is a fine-tuning
    notes: tuple[str, ...] = ()  # problems of files that couldn't be read
    trained: Model | None = None  # the trained model, if it is already open
    baselines: tuple[Baseline, ...] | None = None  # of the test data, if they are already measured

    @cached_property
    def summary(self) -> RunSummary:
        """The times of the workers, and the results of tests."""
        return summarize(self.records)

    @property
    def is_finished(self) -> bool:
        """Whether the run ended by its own rules: at its last iteration or, for a fine-tuning, when tests no longer
        improved."""
        is_written = self.tuned is not None and self.tuned.is_written
        return is_written or self.summary.iteration >= self.run.solver.param.max_iter

    @property
    def name(self) -> str:
        """The name of the net, or of the folder."""
        return self.run.solver.net_to_train.net.name or self.folder.resolve().name

    def logged(self, event: str, value: str) -> Points:
        """Return a value of the logged events of one kind, by iteration."""
        found: Points = {}
        for line in self.events:
            match line:
                case {"event": kind, "iteration": int(iteration)} if kind == event and value in line:
                    number = line[value]
                    if isinstance(number, (int, float)) and math.isfinite(number):
                        found[iteration] = float(number)
        return found

    @cached_property
    def weights(self) -> Path | None:
        """The model's file, or the newest complete snapshot if there is no model yet, or `None`. A fine-tuning keeps
        only the best snapshot, which becomes its model."""
        model = self.folder / MODEL
        if model.is_file() and self.tuned is None:
            return model
        state = newest(str(self.folder / Path(self.run.solver.param.snapshot_prefix).name))
        if state is not None:
            return open_snapshot(state).model
        return model if model.is_file() else None


def read_run(folder: Path, solver: SolverSettings | None = None, trained: Model | None = None) -> RecordedRun:
    """Return the run in a folder. Raises an error unless at least one round is complete. `solver` and `trained` are the
    run's solver and its trained model if they are already open."""
    run, records = Run.load(folder, solver), read_records(folder)
    if not records:
        raise DistributedError(f"{folder}: no round is complete yet; wait until one is, or read why in the run's log")
    notes = list[str]()
    starts: tuple[RunStart, ...] = ()
    plan = None
    try:
        starts = tuple(read_starts(folder))
    except DistributedError as problem:
        notes.append(str(problem))
    try:
        plan = read_plan(folder / PLAN) if (folder / PLAN).exists() else None
    except PlanError as problem:
        notes.append(str(problem))
    events, tuned = _events(folder / EVENTS, notes), read_tuned_model(folder)
    return RecordedRun(folder, run, starts, tuple(records), events, plan, tuned, tuple(notes), trained)


def _events(log: Path, notes: list[str]) -> tuple[Mapping[str, Any], ...]:
    """Return the complete lines of a log. The last line may be cut off if the run was killed."""
    if not log.exists():
        return ()
    try:
        lines = tuple(line for line in read_event_log(log) if isinstance(line, dict))
        written = sum(1 for line in log.read_bytes().splitlines() if line.strip())
    except (FileError, OSError) as problem:
        notes.append(f"{problem}; the log is left out here")
        return ()
    if written > len(lines):
        damaged = written - len(lines)
        what = "damaged line, which is" if damaged == 1 else "damaged lines, which are"
        notes.append(f"{log.name} contains {damaged} {what} left out here")
    return lines
