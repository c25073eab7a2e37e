"""A training run in this process: from scratch, resumed or fine-tuned, on the data of the net or on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.open_source import with_split
from netdsl.data.sources.source import DataSplit
from netdsl.distributed.run import NEWEST, Run
from netdsl.errors import SolverError
from netdsl.net.graph import Phase, is_included
from netdsl.open_net import open_net
from netdsl.solver import state
from netdsl.solver.action import Action, no_action
from netdsl.solver.events import Event, Listener, Notice
from netdsl.solver.nets import find_file, train_net
from netdsl.solver.open_solver import open_solver
from netdsl.solver.snapshot_files import newest
from netdsl.solver.solver import Solver
from netdsl.tables.table import Table


def train(
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    requested: Callable[[], Action] = no_action,
) -> Solver:
    """Train to the end, or until a stop is requested; listeners get all events."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    start = find_start(run, listen)
    with open_solver(
        run.solver,
        folder=run.folder,
        compute=replace(run.compute, device=run.device(0)),
        weights=() if start else run.weights,
        tables=run.tables,
        listen=listen,
        poll_action=requested,
        require_finite=run.require_finite,
    ) as solver:
        if start is not None:
            state.restore(solver, start)
        solver.solve()
    return solver


def find_start(run: Run, listen: Listener) -> Path | None:
    """The solver state that a run resumes from, if there is one; `listen` gets notices of damaged ones."""
    if run.snapshot is None:
        return None
    if run.snapshot == NEWEST:
        return newest(run.solver.snapshot_prefix, lambda text: listen(Notice(text)))
    if run.weights:
        raise SolverError("a snapshot has its own weights; give --snapshot or --weights, not both")
    return Path(run.snapshot)


def with_sources(run: Run, data: str | None, test_data: str | None) -> Run:
    """The run with other data: other sources of its data layers, or tables for the inputs of a net without data layers.

    A table's columns are those with the names of the inputs, or those that the source lists, in the inputs' order.
    """
    param, folder = run.solver, run.folder
    net = open_net(find_file(param.net, folder)).net if param.HasField("net") else train_net(param, folder)
    if _data_layers(net):
        return replace(run, solver=_with_net(param, net, data, test_data))
    sources = {Phase.TRAIN: (data, DataSplit.TRAIN), Phase.TEST: (test_data or data, DataSplit.TEST)}
    tables = {
        phase: Table(with_split(source, split)) for phase, (source, split) in sources.items() if source is not None
    }
    return replace(run, tables=tables)


def with_data(param: pb.SolverParameter, folder: Path, data: str | None, test_data: str | None) -> pb.SolverParameter:
    """The settings with other sources of the net's data layers."""
    net = open_net(find_file(param.net, folder)).net if param.HasField("net") else pb.NetParameter()
    return _with_net(param, net, data, test_data)


def _data_layers(net: pb.NetParameter) -> list[pb.LayerParameter]:
    """The layers that read a source."""
    return [layer for layer in net.layer if layer.HasField("data_param")]


def _with_net(
    param: pb.SolverParameter, net: pb.NetParameter, data: str | None, test_data: str | None
) -> pb.SolverParameter:
    """The settings with the net that they name in `net`, whose data layers read other sources."""
    if not param.HasField("net"):
        raise SolverError("--data is for solvers that name one net for training and testing, in `net`")
    data_layers = _data_layers(net)
    if not data_layers:
        raise SolverError(f"{param.net}: has no layer with a data_param that could read something else")
    for layer in data_layers:
        tests = not is_included(layer, pb.NetState(phase=pb.TRAIN))
        source = test_data or data if tests else data
        if source is not None:
            layer.data_param.source = with_split(source, DataSplit.TEST if tests else DataSplit.TRAIN)
    changed = pb.SolverParameter()
    changed.CopyFrom(param)
    changed.ClearField("net")
    changed.net_param.CopyFrom(net)
    return changed
