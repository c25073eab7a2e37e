"""A solver and all that belongs to it, made ready from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.model import load_weights
from netdsl.net.graph import Phase
from netdsl.solver.events import Listener
from netdsl.solver.module_net import Compute, ModuleNet
from netdsl.solver.nets import find_file, inline_nets, split_names, test_nets, train_net
from netdsl.solver.replicated import ReplicatedNet
from netdsl.solver.settings import seed
from netdsl.solver.solver import Action, Solver, nobody_listens, nothing_wanted
from netdsl.tables.table import Table


@contextmanager
def open_solver(
    param: pb.SolverParameter,
    *,
    folder: Path | None = None,
    way: Compute | None = None,
    devices: Sequence[torch.device] = (),
    weights: Sequence[str | Path] = (),
    tables: Mapping[Phase, Table] | None = None,
    listen: Listener = nobody_listens,
    requested: Callable[[], Action] = nothing_wanted,
) -> Iterator[Solver]:
    """A solver with its nets, whose data are let go of at the end.

    `folder` is where the files that it names may be. On several devices the train net is replicated. A phase that has a
    table takes its data from there.
    """
    seed(param)
    way, tables = way or Compute(), tables or {}
    way = replace(way, loading=replace(way.loading, seed=max(0, param.random_seed)))
    nets: list[ModuleNet | ReplicatedNet] = []
    try:
        inlined = inline_nets(param, folder)
        train, table = train_net(inlined), tables.get(Phase.TRAIN)
        several = len(devices) > 1
        nets.append(ReplicatedNet(train, devices, way, table) if several else ModuleNet(train, way, values=table))
        for message in test_nets(inlined):
            nets.append(ModuleNet(message, way, values=tables.get(Phase.TEST)))
        for name in split_names([*param.weights, *map(str, weights)]):
            load_weights(find_file(name, folder), *(net.built for net in nets))
        yield Solver(param, nets[0], nets[1:], listen=listen, requested=requested)
    finally:
        for net in nets:
            net.close()
