"""What a net with weights gives on its test data, from its file to its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from caffe_proto.upgrade import upgrade_net
from netdsl.snapshot import load_file
from netdsl.solver.events import Output
from netdsl.solver.module_net import ModuleNet, Way
from netdsl.solver.nets import split_names
from netdsl.solver.testing import averaged


def test(
    net: str | Path,
    weights: Iterable[str],
    iterations: int,
    *,
    device: torch.device,
    level: int = 0,
    stages: Sequence[str] = (),
) -> tuple[float, tuple[Output, ...]]:
    """The mean loss and the mean outputs over so many batches of the data that the net names."""
    message = upgrade_net(read_net(net, lenient=True).message).message
    message.state.MergeFrom(pb.NetState(phase=pb.TEST, level=level, stage=stages))
    with closing(ModuleNet(message, Way(device))) as running:
        for name in split_names(weights):
            load_file(running.built, name)
        found = averaged(running, iterations)
    assert found is not None  # nobody interrupts it
    return found
