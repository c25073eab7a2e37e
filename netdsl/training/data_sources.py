"""Replaces a net's training data: the sources of its data layers, its tables, and the part that is held out for
tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.sources.open_source import parse_joined, parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.sources.source_name import Content, SourceName
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run
from netdsl.errors import DataError, SolverError
from netdsl.layer import Layer
from netdsl.layer.data import NamesSource
from netdsl.layers import type_of
from netdsl.model.edits import separate_phases
from netdsl.net.graph import Phase, is_included
from netdsl.solver.settings import SolverSettings

NO_TESTS = "none"  # as test data: the run has no tests

Sources = dict[Phase, str]


def with_sources(run: Run, data: str | None, test_data: str | None) -> Run:
    """Return the run with other sources for its data layers, or tables for a net without data layers.

    If no test data are given but the run has tests, part of the data is held out for them. With NO_TESTS, the run has
    no tests and trains on all data. A table's columns have the names of the inputs, or the source lists them in the
    order of the inputs.
    """
    if test_data == NO_TESTS:
        run, test_data = replace(run, solver=run.solver.without_tests()), None
    sources = _sources(run.solver.param, data, test_data)
    if data_layers(run.solver.net_to_train.net):
        return replace(run, solver=_reading(run.solver, sources)) if sources else run
    return replace(run, tables={phase: Table(source) for phase, source in sources.items()})


def with_data(solver: SolverSettings, data: str | None, test_data: str | None) -> SolverSettings:
    """Return the settings with other sources for the net's data layers."""
    return _reading(solver, _sources(solver.param, data, test_data))


def holds_out(param: pb.SolverParameter, data: str | None, test_data: str | None) -> bool:
    """Return whether tests use items of the training data that training leaves out, because no test data are given."""
    if data is None or test_data is not None or are_marked_images(data):
        return False
    return bool(param.test_iter) and parse_source(data).train_and_test()[1].part is not None


def _sources(param: pb.SolverParameter, data: str | None, test_data: str | None) -> Sources:
    """Return the full names of the sources, for each phase whose source changes.

    Sets of images with marked objects have lists that name the test images, so no part of them is held out here.
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
    """Return the settings with a net whose data layers read other sources."""
    if solver.train_net is not None and solver.test_nets:
        raise SolverError(
            "--data needs a solver with a single net: one that sets `net`, or sets `train_net` and no test net; "
            "leave --data out, and name the data in the nets' data layers"
        )
    model, param = solver.net_to_train, solver.param
    if not data_layers(model.net):
        name = param.net or param.train_net or f"net '{model.net.name}'"
        raise SolverError(
            f"{name}: no layer names a source that --data could replace; leave --data out, or begin the net with a "
            "data layer"
        )
    if sources.get(Phase.TRAIN) != sources.get(Phase.TEST):
        model = separate_phases(model)
    net = copy_of(model.net)
    for layer in data_layers(net):
        phase = Phase.TRAIN if is_included(layer, pb.NetState(phase=pb.TRAIN)) else Phase.TEST
        if phase in sources:
            set_source(layer, sources[phase])
    return solver.with_net(replace(model, net=net))


def data_layers(net: pb.NetParameter) -> list[pb.LayerParameter]:
    """Return the layers that read from a source."""
    return [
        layer for layer in net.layer if layer.HasField("data_param") or issubclass(_layer_class(layer), NamesSource)
    ]


def set_source(layer: pb.LayerParameter, source: str) -> None:
    """Replace the source of a data layer."""
    kind = _layer_class(layer)
    if issubclass(kind, NamesSource):
        kind.name_source(layer, source)
    else:
        layer.data_param.source = source


def source_for(data: str, split: DataSplit) -> str:
    """Return the full name of the data, with a split if this kind of data has splits.

    Images with marked objects have lists instead of splits.
    """
    return data if are_marked_images(data) else str(parse_source(data).with_split(split))


def are_marked_images(data: str) -> bool:
    """Return whether the data are images with marked objects, from one set or several."""
    return parse_joined(data)[0].content is Content.MARKED_IMAGES


def are_pictures(data: SourceName, net: pb.NetParameter) -> bool:
    """Return whether the data are images with marked objects, and not a database that the net's layers read."""
    reads_databases = any(layer.HasField("data_param") for layer in net.layer)
    return data.content is Content.MARKED_IMAGES and not (data.form.is_database and reads_databases)


def read_test_data(net: pb.NetParameter, data: str, columns: Mapping[str, str]) -> Table | None:
    """Make the data layers read another source. For a net without data layers, return the source as a table for the
    inputs."""
    source = source_for(data, DataSplit.TEST)
    readers = data_layers(net)
    for layer in readers:
        set_source(layer, source)
    if readers and columns:
        raise DataError(f"{data}: data layers read its arrays in order; remove --column")
    return None if readers else Table(source, columns)


def _layer_class(layer: pb.LayerParameter) -> type[Layer]:
    return type_of(layer) or Layer
