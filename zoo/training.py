"""A training run in this process: from scratch, resumed or fine-tuned, on the data of the net or on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.tables.table import Table
from netdsl.distributed.run import NEWEST, Run
from netdsl.errors import SolverError
from netdsl.model.edits import separate_phases
from netdsl.model.model import Model, open_net
from netdsl.net.graph import Phase, is_included
from netdsl.solver import state
from netdsl.solver.events import Action, Event, Listener, Notice, no_action
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import find_file, train_net
from netdsl.solver.snapshot_files import newest
from netdsl.solver.solver import Solver
from zoo.data_layers import are_marked_images, data_layers, set_source, source_for

NO_TESTS = "none"  # as test data: the run doesn't test

Sources = dict[Phase, str]
NetField = Literal["net", "net_param", "train_net", "train_net_param"]


def train(
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    requested: Callable[[], Action] = no_action,
    test_last: bool = True,
) -> Solver:
    """Train to the end, or until a stop is requested; listeners get all events.

    With `test_last` what was learned is tested at the end, also where `test_interval` doesn't divide `max_iter`.
    """

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
        test_last=test_last,
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

    Without test data, a part of the data is held out for tests, if there are any; NO_TESTS is for a run without tests,
    which trains on all data. A table's columns are those with the names of the inputs, or those that the source lists,
    in the inputs' order.
    """
    if test_data == NO_TESTS:
        run, test_data = replace(run, solver=_without_tests(run.solver)), None
    param, folder = run.solver, run.folder
    field = _net_field(param)
    net = train_net(param, folder) if field is None else _open_field(param, field, folder)
    sources = _sources(param, data, test_data)
    if data_layers(net):
        return replace(run, solver=_with_net(param, net, sources)) if sources else run
    return replace(run, tables={phase: Table(source) for phase, source in sources.items()})


def with_data(param: pb.SolverParameter, folder: Path, data: str | None, test_data: str | None) -> pb.SolverParameter:
    """The settings with other sources of the net's data layers."""
    field = _net_field(param)
    net = _open_field(param, field, folder) if field else pb.NetParameter()
    return _with_net(param, net, _sources(param, data, test_data))


def holds_out(param: pb.SolverParameter, data: str | None, test_data: str | None) -> bool:
    """Whether tests are on items of the data that training leaves out, since nothing names others."""
    if data is None or test_data is not None or are_marked_images(data):
        return False
    return bool(param.test_iter) and parse_source(data).train_and_test()[1].part is not None


def _sources(param: pb.SolverParameter, data: str | None, test_data: str | None) -> Sources:
    """The full names of what the phases read, where it isn't what the net says.

    Sets of images with marked objects have lists that say what is for tests, so no part of them is chosen here.
    """
    sources: Sources = {}
    if data is not None and are_marked_images(data):
        sources[Phase.TRAIN] = data
    elif data is not None:
        source = parse_source(data)
        parts = source.train_and_test() if holds_out(param, data, test_data) else map(source.with_split, DataSplit)
        sources[Phase.TRAIN], sources[Phase.TEST] = map(str, parts)
    if test_data is not None:
        sources[Phase.TEST] = source_for(test_data, DataSplit.TEST)
    return sources


def _without_tests(param: pb.SolverParameter) -> pb.SolverParameter:
    """The settings of the same training without any test."""
    return copy_of(param, without=("test_iter", "test_interval", "test_state", "test_net", "test_net_param"))


def _with_net(param: pb.SolverParameter, net: pb.NetParameter, sources: Sources) -> pb.SolverParameter:
    """The settings with the net that they name, whose data layers read other sources."""
    field = _net_field(param)
    if field is None:
        raise SolverError("--data is for solvers that name one net, in `net`, or in `train_net` and test none")
    if not data_layers(net):
        name = getattr(param, field) if isinstance(getattr(param, field), str) else f"net '{net.name}'"
        raise SolverError(f"{name}: has no layer that names what it reads, so it can't read something else")
    if sources.get(Phase.TRAIN) != sources.get(Phase.TEST):
        net = separate_phases(Model(net)).net
    for layer in data_layers(net):
        phase = Phase.TRAIN if is_included(layer, pb.NetState(phase=pb.TRAIN)) else Phase.TEST
        if phase in sources:
            set_source(layer, sources[phase])
    changed = copy_of(param)
    changed.ClearField(field)
    getattr(changed, f"{field.removesuffix('_param')}_param").CopyFrom(net)
    return changed


def _net_field(param: pb.SolverParameter) -> NetField | None:
    """The field that has or names the only net; None if there is no such field, or nets for tests beside it."""
    has_test_nets = param.test_net or param.test_net_param
    fields: tuple[NetField, ...] = ("net", "net_param", *(() if has_test_nets else ("train_net", "train_net_param")))
    return next((field for field in fields if param.HasField(field)), None)


def _open_field(param: pb.SolverParameter, field: NetField, folder: Path) -> pb.NetParameter:
    source = getattr(param, field)
    return open_net(find_file(source, folder) if isinstance(source, str) else source).net
