"""A training run from its settings to its end: on, resumed or fine-tuned, with whoever wants to be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.open_source import with_split
from netdsl.data.sources.source import DataSplit
from netdsl.distributed.run import NEWEST, Run
from netdsl.errors import SolverError
from netdsl.net.graph import Phase, included
from netdsl.open_net import open_net
from netdsl.solver import state
from netdsl.solver.events import Event, Listener
from netdsl.solver.nets import find_file, train_net
from netdsl.solver.open_solver import open_solver
from netdsl.solver.solver import Action, Solver, no_action
from netdsl.tables.table import Table


def train(
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    requested: Callable[[], Action] = no_action,
) -> Solver:
    """Train to the end."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    start = find_start(run)
    with open_solver(
        run.solver,
        folder=run.folder,
        compute=replace(run.compute, device=run.device(0)),
        weights=() if start else run.weights,
        tables=run.tables,
        listen=listen,
        poll_action=requested,
    ) as solver:
        if start is not None:
            state.restore(solver, start)
        solver.solve()
    return solver


def find_start(run: Run) -> Path | None:
    """The solver state that a run goes on from, if it does."""
    if run.snapshot is None:
        return None
    if run.snapshot == NEWEST:
        return state.newest(run.solver.snapshot_prefix)
    if run.weights:
        raise SolverError("a snapshot has its own weights; give --snapshot or --weights, not both")
    return Path(run.snapshot)


def fed(run: Run, data: str | None, test_data: str | None) -> Run:
    """The run with other data: other sources of its data layers, or tables for the blobs of a net that has none.

    Of such a source the columns with the blobs' names are taken, or those that its name lists, in the blobs' order.
    """
    folder = run.folder
    if any(layer.HasField("data_param") for layer in train_net(run.solver, folder).layer):
        return replace(run, solver=with_data(run.solver, folder, data, test_data))
    sources = {Phase.TRAIN: (data, DataSplit.TRAIN), Phase.TEST: (test_data or data, DataSplit.TEST)}
    tables = {
        phase: Table(with_split(source, split)) for phase, (source, split) in sources.items() if source is not None
    }
    return replace(run, tables=tables)


def with_data(param: pb.SolverParameter, folder: Path, data: str | None, test_data: str | None) -> pb.SolverParameter:
    """The settings with a net whose data layers read something else."""
    changed = pb.SolverParameter()
    changed.CopyFrom(param)
    if not param.HasField("net"):
        raise SolverError("--data is for solvers that name one net for training and testing, in `net`")
    net = open_net(find_file(param.net, folder)).net
    reading = [layer for layer in net.layer if layer.HasField("data_param")]
    if not reading:
        raise SolverError(f"{param.net}: has no layer with a data_param that could read something else")
    for layer in reading:
        tests = not included(layer, pb.NetState(phase=pb.TRAIN))
        source = test_data or data if tests else data
        if source is not None:
            layer.data_param.source = with_split(source, DataSplit.TEST if tests else DataSplit.TRAIN)
    changed.ClearField("net")
    changed.net_param.CopyFrom(net)
    return changed
