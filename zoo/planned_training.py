"""Training as a plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.distributed.run import Run
from netdsl.errors import PlanError
from netdsl.layer.data import state_batch
from netdsl.model.model import Model
from netdsl.net.graph import is_included
from netdsl.planner.plan import Plan, write_plan
from zoo import distributed_run
from zoo.backends import Backend
from zoo.training import brings_data, separate_phases

PLAN = "plan.json"  # of a run's folder


def begin_planned(run: Run, plan: Plan, folder: Path, backend: Backend) -> Run:
    """Begin a run as a plan says, in a folder, where the plan is kept too."""
    begun = distributed_run.begin(with_plan(run, plan), folder, backend)
    write_plan(plan, folder / PLAN)
    return begun


def with_plan(run: Run, plan: Plan) -> Run:
    """The run with the plan's batch, passes, precision, strategy and workers. Tests keep their batches."""
    name = run.solver.net_to_train.net.name
    if name != plan.net:
        raise PlanError(f"the plan is for net '{plan.net}', and this is '{name}'; make one for it with `zoo plan`")
    net = _state_batches(separate_phases(run.solver.net_to_train), plan.batch)
    return replace(
        run,
        solver=run.solver.with_net(net).with_fields(iter_size=plan.iter_size),
        strategy=plan.strategy,
        workers=plan.workers,
        fewest=None,
        compute=replace(run.compute, precision=plan.precision),
    )


def _state_batches(model: Model, batch: int) -> Model:
    """The model whose data layers of the TRAIN phase bring so many items at once."""
    state, net = pb.NetState(phase=pb.TRAIN), copy_of(model.net)
    for layer in net.layer:
        if brings_data(layer) and is_included(layer, state) and not state_batch(layer, batch):
            raise PlanError(f"layer '{layer.name}' ({layer.type}) doesn't say how large a batch is, so a plan can't")
    return replace(model, net=net)
