"""A training run in this process: from scratch, resumed or fine-tuned, on the data of the net or on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.tables.table import Table
from netdsl.distributed.run import NEWEST, Run
from netdsl.errors import SolverError
from netdsl.model.edits import separate_phases
from netdsl.net.graph import Phase, is_included
from netdsl.solver import state
from netdsl.solver.events import Action, Event, Listener, Notice, no_action
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import SolverSettings
from netdsl.solver.snapshot_files import newest
from netdsl.solver.solver import Solver
from zoo.data_layers import are_marked_images, data_layers, set_source, source_for

NO_TESTS = "none"  # as test data: the run doesn't test

Sources = dict[Phase, str]


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
        return newest(run.solver.param.snapshot_prefix, lambda text: listen(Notice(text)))
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
        run, test_data = replace(run, solver=run.solver.without_tests()), None
    sources = _sources(run.solver.param, data, test_data)
    if data_layers(run.solver.net_to_train.net):
        return replace(run, solver=_reading(run.solver, sources)) if sources else run
    return replace(run, tables={phase: Table(source) for phase, source in sources.items()})


def with_data(solver: SolverSettings, data: str | None, test_data: str | None) -> SolverSettings:
    """The settings with other sources of the net's data layers."""
    return _reading(solver, _sources(solver.param, data, test_data))


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


def _reading(solver: SolverSettings, sources: Sources) -> SolverSettings:
    """The settings whose net has data layers that read other sources."""
    if solver.train_net is not None and solver.test_nets:
        raise SolverError("--data is for solvers that name one net, in `net`, or in `train_net` and test none")
    model, param = solver.net_to_train, solver.param
    if not data_layers(model.net):
        name = param.net or param.train_net or f"net '{model.net.name}'"
        raise SolverError(f"{name}: has no layer that names what it reads, so it can't read something else")
    if sources.get(Phase.TRAIN) != sources.get(Phase.TEST):
        model = separate_phases(model)
    net = copy_of(model.net)
    for layer in data_layers(net):
        phase = Phase.TRAIN if is_included(layer, pb.NetState(phase=pb.TRAIN)) else Phase.TEST
        if phase in sources:
            set_source(layer, sources[phase])
    return solver.with_net(replace(model, net=net))
