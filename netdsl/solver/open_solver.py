"""A solver and all that belongs to it, made ready from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.net.graph import Phase
from netdsl.solver.events import Listener
from netdsl.solver.module_net import Compute, ModuleNet
from netdsl.solver.nets import find_file, split_names, test_nets, train_net
from netdsl.solver.settings import seed
from netdsl.solver.solver import Action, Solver, nobody_listens, nothing_wanted
from netdsl.tables.table import Table
from netdsl.weights.files import load_file


@contextmanager
def open_solver(
    param: pb.SolverParameter,
    *,
    folder: Path | None = None,
    way: Compute | None = None,
    weights: Sequence[str | Path] = (),
    tables: Mapping[Phase, Table] | None = None,
    listen: Listener = nobody_listens,
    requested: Callable[[], Action] = nothing_wanted,
) -> Iterator[Solver]:
    """A solver with its nets, whose data are let go of at the end.

    `folder` is where the files that it names may be. A phase that has a table takes its data from there.
    """
    seed(param)
    way, tables = way or Compute(), tables or {}
    way = replace(way, loading=replace(way.loading, seed=max(0, param.random_seed)))
    nets: list[ModuleNet] = []
    try:
        train, table = train_net(param, folder), tables.get(Phase.TRAIN)
        nets.append(ModuleNet(train, way, values=table))
        for message in test_nets(param, folder):
            nets.append(ModuleNet(message, way, values=tables.get(Phase.TEST)))
        for name in split_names([*param.weights, *map(str, weights)]):
            for net in nets:
                load_file(net.built, find_file(name, folder))
        yield Solver(param, nets[0], nets[1:], listen=listen, requested=requested)
    finally:
        for net in nets:
            net.close()
