"""A training run from its settings to its end: on, resumed or fine-tuned, with whoever wants to be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.open_source import part_of
from netdsl.data.sources.split import DataSplit
from netdsl.errors import SolverError
from netdsl.net.graph import Phase, included
from netdsl.open_net import open_net
from netdsl.solver import state
from netdsl.solver.events import Event, Listener
from netdsl.solver.module_net import Compute
from netdsl.solver.nets import find_file, train_net
from netdsl.solver.open_solver import open_solver
from netdsl.solver.solver import Action, Solver, nothing_wanted
from netdsl.tables.table import Table

NEWEST = "auto"


@dataclass(frozen=True)
class Run:
    """What to train and how. `snapshot` is a state to go on from, or 'auto' for the newest whole one, if any."""

    param: pb.SolverParameter
    folder: Path | None = None  # where the files that the settings name may be
    way: Compute = field(default_factory=Compute)
    devices: Sequence[torch.device] = ()
    weights: Sequence[str | Path] = ()
    snapshot: str | None = None
    tables: Mapping[Phase, Table] = field(default_factory=dict)  # in the place of what the nets themselves read


def train(
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    requested: Callable[[], Action] = nothing_wanted,
) -> Solver:
    """Train to the end."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    start = _start(run)
    with open_solver(
        run.param,
        folder=run.folder,
        way=run.way,
        devices=run.devices,
        weights=() if start else run.weights,
        tables=run.tables,
        listen=listen,
        requested=requested,
    ) as solver:
        if start is not None:
            state.restore(solver, start)
        solver.solve()
    return solver


def _start(run: Run) -> Path | None:
    """The state to go on from."""
    if run.snapshot is None:
        return None
    if run.snapshot == NEWEST:
        return state.newest(run.param.snapshot_prefix)
    if run.weights:
        raise SolverError("a snapshot has its own weights; give --snapshot or --weights, not both")
    return Path(run.snapshot)


def fed(run: Run, data: str | None, test_data: str | None) -> Run:
    """The run with other data: other sources of its data layers, or tables for the blobs of a net that has none.

    Of such a source the columns with the blobs' names are taken, or those that its name lists, in the blobs' order.
    """
    folder = run.folder or Path()
    if any(layer.HasField("data_param") for layer in train_net(run.param, folder).layer):
        return replace(run, param=with_data(run.param, folder, data, test_data))
    sources = {Phase.TRAIN: (data, DataSplit.TRAIN), Phase.TEST: (test_data or data, DataSplit.TEST)}
    tables = {phase: Table(part_of(source, split)) for phase, (source, split) in sources.items() if source is not None}
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
            layer.data_param.source = part_of(source, DataSplit.TEST if tests else DataSplit.TRAIN)
    changed.ClearField("net")
    changed.net_param.CopyFrom(net)
    return changed
