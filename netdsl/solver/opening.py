"""A solver and all that belongs to it, made ready from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.snapshot import load_file
from netdsl.solver.events import Listener
from netdsl.solver.module_net import ModuleNet, Way
from netdsl.solver.nets import found, split_names, test_nets, train_net
from netdsl.solver.replicated import ReplicatedNet
from netdsl.solver.settings import seed
from netdsl.solver.solver import Action, Solver, nobody_listens, nothing_wanted


@contextmanager
def opened(
    param: pb.SolverParameter,
    *,
    folder: Path | None = None,
    way: Way | None = None,
    devices: Sequence[torch.device] = (),
    weights: Sequence[str | Path] = (),
    listen: Listener = nobody_listens,
    requested: Callable[[], Action] = nothing_wanted,
) -> Iterator[Solver]:
    """A solver with its nets, whose data are let go of at the end.

    `folder` is where the files that it names may be. On several devices the train net is replicated.
    """
    seed(param)
    way = way or Way()
    way = replace(way, loading=replace(way.loading, seed=max(0, param.random_seed)))
    nets: list[ModuleNet | ReplicatedNet] = []
    try:
        train = train_net(param, folder)
        nets.append(ReplicatedNet(train, devices, way) if len(devices) > 1 else ModuleNet(train, way))
        for message in test_nets(param, folder):
            nets.append(ModuleNet(message, way))
        for name in split_names([*param.weights, *map(str, weights)]):
            for net in nets:
                load_file(net.built, found(name, folder))
        yield Solver(param, nets[0], nets[1:], listen=listen, requested=requested)
    finally:
        for net in nets:
            net.close()
