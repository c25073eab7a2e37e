"""Runs that train as a plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from netdsl.distributed.run import Run
from netdsl.errors import PlanError
from netdsl.model.edits import separate_phases, with_batch
from netdsl.net.graph import Phase
from netdsl.planner.plan import Plan, write_plan
from netdsl.training import job
from netdsl.training.backends import Backend

PLAN = "plan.json"  # of a run's folder


def begin_planned(run: Run, plan: Plan, folder: Path, backend: Backend) -> Run:
    """Begin a run that is as a plan says, in a folder, where the plan is kept too."""
    begun = job.begin(run, folder, backend)
    write_plan(plan, folder / PLAN)
    return begun


def with_plan(run: Run, plan: Plan) -> Run:
    """Return the run with the plan's batch, passes, precision, strategy and workers. Tests keep their batches."""
    name = run.solver.net_to_train.net.name
    if name != plan.net:
        raise PlanError(f"the plan is for net '{plan.net}', and this is '{name}'; make one for it with `zoo plan`")
    net = with_batch(separate_phases(run.solver.net_to_train), Phase.TRAIN, plan.batch)
    return replace(
        run,
        solver=run.solver.with_net(net).with_fields(iter_size=plan.iter_size),
        strategy=plan.strategy,
        workers=plan.workers,
        fewest=None,
        compute=replace(run.compute, precision=plan.precision),
    )
