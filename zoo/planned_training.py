"""Training as a plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from netdsl.distributed.run import Run
from netdsl.errors import PlanError
from netdsl.model.edits import separate_phases, with_batch
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.planner.plan import Plan, write_plan
from netdsl.solver.settings import inline_nets, train_net
from zoo import distributed_run
from zoo.backends import Backend

PLAN = "plan.json"  # of a run's folder


def begin_planned(run: Run, plan: Plan, folder: Path, backend: Backend) -> Run:
    """Begin a run as a plan says, in a folder, where the plan is kept too."""
    planned = with_plan(run, plan)
    distributed_run.begin(planned, folder, backend)
    write_plan(plan, folder / PLAN)
    return planned


def with_plan(run: Run, plan: Plan) -> Run:
    """The run with the plan's batch, passes, precision, strategy and workers. Tests keep their batches."""
    solver = inline_nets(run.solver, run.folder)
    net = solver.net_param if solver.HasField("net_param") else solver.train_net_param
    name = train_net(solver).name
    if name != plan.net:
        raise PlanError(f"the plan is for net '{plan.net}', and this is '{name}'; make one for it with `zoo plan`")
    net.CopyFrom(with_batch(separate_phases(Model(net)), Phase.TRAIN, plan.batch).net)
    solver.iter_size = plan.iter_size
    return replace(
        run,
        solver=solver,
        strategy=plan.strategy,
        workers=plan.workers,
        fewest=None,
        compute=replace(run.compute, precision=plan.precision),
    )
