"""All strategies on the device in NETDSL_DEVICE, over gloo and over NCCL, compared with the CPU."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.transports.torch_group import Library, TorchGroup
from netdsl.model.model import Model
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet
from tests.gpu.workers import LIBRARIES, as_workers, devices_of

pytest.importorskip("msgspec")

from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.distributed.worker import Worker
from tests.netdsl.distributed.strategies.conftest import NORMED, batches_of

LINES = [name if name == "mpca" else f"{name}:tau=2" for name in STRATEGIES]


def trained(strategy: str, group: TorchGroup, device: torch.device) -> Tensor:
    """Return a worker's final weights."""
    message = from_text(NORMED, pb.NetParameter)
    message.state.phase = pb.TRAIN
    net = ModuleNet.open(Model(message), Compute(device), values=batches_of(group.rank))
    param = pb.SolverParameter(base_lr=0.1, lr_policy="fixed", type="SGD", momentum=0.9, max_iter=6)
    worker = Worker(Solver(param, net), group)
    worker.weights.copy_(torch.rand(worker.weights.shape, generator=torch.Generator().manual_seed(group.rank)))
    part = parse(strategy).begin(worker)
    while worker.remaining:
        worker.begin_round()
        part.round()
        worker.end_round()
    part.finish()
    group.barrier()  # no worker leaves while others may still need the first one
    assert worker.weights.device == part.model().device == device
    return worker.weights.cpu()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("strategy", LINES)
def test_a_strategy_ends_as_on_the_cpu(strategy: str, library: Library) -> None:
    task, devices = partial(trained, strategy), devices_of(library)
    found = as_workers(library, devices, task)
    assert all(torch.equal(weights, found[0]) for weights in found)
    if parse(strategy).synchronous:
        expected = as_workers(Library.GLOO, [torch.device("cpu")] * len(devices), task)
        torch.testing.assert_close(found[0], expected[0], rtol=1e-4, atol=1e-5)
