"""Other data for a training than its net names: sources of its data layers, tables, and the part that is for tests."""

from __future__ import annotations

from dataclasses import replace

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.sources.open_source import parse_joined, parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.sources.source_name import Content
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run
from netdsl.errors import SolverError
from netdsl.layer import Layer
from netdsl.layer.data import NamesSource
from netdsl.layers import type_of
from netdsl.model.edits import separate_phases
from netdsl.net.graph import Phase, is_included
from netdsl.solver.settings import SolverSettings

NO_TESTS = "none"  # as test data: the run doesn't test

Sources = dict[Phase, str]


def with_sources(run: Run, data: str | None, test_data: str | None) -> Run:
    """Return the run with other data: other sources of its data layers, or tables for the inputs of a net without data
    layers.

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
    """Return the settings with other sources of the net's data layers."""
    return _reading(solver, _sources(solver.param, data, test_data))


def holds_out(param: pb.SolverParameter, data: str | None, test_data: str | None) -> bool:
    """Return whether tests are on items of the data that training leaves out, since nothing names others."""
    if data is None or test_data is not None or are_marked_images(data):
        return False
    return bool(param.test_iter) and parse_source(data).train_and_test()[1].part is not None


def _sources(param: pb.SolverParameter, data: str | None, test_data: str | None) -> Sources:
    """Return the full names of what the phases read, where it isn't what the net says.

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
    """Return the settings whose net has data layers that read other sources."""
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


def data_layers(net: pb.NetParameter) -> list[pb.LayerParameter]:
    """Return the layers that read a source."""
    return [
        layer for layer in net.layer if layer.HasField("data_param") or issubclass(_layer_class(layer), NamesSource)
    ]


def set_source(layer: pb.LayerParameter, source: str) -> None:
    """Let a data layer read another source."""
    kind = _layer_class(layer)
    if issubclass(kind, NamesSource):
        kind.name_source(layer, source)
    else:
        layer.data_param.source = source


def source_for(data: str, split: DataSplit) -> str:
    """Return the full name of data, with a split if their kind has splits; images with marked objects have lists
    instead."""
    return data if are_marked_images(data) else str(parse_source(data).with_split(split))


def are_marked_images(data: str) -> bool:
    """Return whether data are images with marked objects, of one set or of several."""
    return parse_joined(data)[0].content is Content.MARKED_IMAGES


def _layer_class(layer: pb.LayerParameter) -> type[Layer]:
    return type_of(layer) or Layer
