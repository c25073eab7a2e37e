"""Runs that follow a plan."""

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

PLAN = "plan.json"  # in a run's folder


def begin_planned(run: Run, plan: Plan, folder: Path, backend: Backend) -> Run:
    """Start a run that follows a plan. A copy of the plan is kept in the run's folder."""
    begun = job.begin(run, folder, backend)
    write_plan(plan, folder / PLAN)
    return begun


def with_plan(run: Run, plan: Plan) -> Run:
    """Return the run with the plan's batch, passes, precision, strategy and workers. Tests keep their batches."""
    name = run.solver.net_to_train.net.name
    if name != plan.net:
        raise PlanError(
            f"the plan is for the net '{plan.net}', but this net is '{name}'; make a plan for it with `zoo plan "
            "-o FILE`"
        )
    net = with_batch(separate_phases(run.solver.net_to_train), Phase.TRAIN, plan.batch)
    return replace(
        run,
        solver=run.solver.with_net(net).with_fields(iter_size=plan.iter_size),
        strategy=plan.strategy,
        workers=plan.workers,
        fewest=None,
        compute=replace(run.compute, precision=plan.precision),
    )
