"""Workers on a pretended GPU: every strategy ends with the same weights as workers on CPUs, and only exchanges wait."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.communicator import Communicator
from netdsl.distributed.journal import Journal, Retention
from netdsl.distributed.loop import Loop
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_worker
from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.distributed.worker import Worker
from netdsl.model.model import Model
from netdsl.solver.events import Action
from netdsl.solver.settings import open_settings
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet
from tests.netdsl.distributed.strategies.conftest import NORMED, batches_of
from tests.netdsl.distributed.workers import Together, around_a_relay, in_shared_memory, over_gloo
from tests.pretend_gpu import GPU, on_gpu, pretend_gpu

CPU = torch.device("cpu")
ROUNDING = {"rtol": 1e-5, "atol": 1e-6}  # a CPU updates weights in one pass, which rounds differently
TRANSPORTS = {"shared memory": in_shared_memory, "gloo": over_gloo, "relay": around_a_relay}
LINES = [name if name == "mpca" else f"{name}:tau=2" for name in STRATEGIES]
FEW = ["averaging:tau=2", "elastic:tau=2", "mpca"]  # one that waits for others, one that doesn't, one with lanes
CASES = [(line, transport) for transport in TRANSPORTS for line in (LINES if transport == "shared memory" else FEW)]


def trained(strategy: str, together: Together, device: torch.device) -> list[Tensor]:
    """Return the final weights of two workers."""

    def work(communicator: Communicator) -> Tensor:
        message = from_text(NORMED, pb.NetParameter)
        message.state.phase = pb.TRAIN
        net = ModuleNet.open(Model(message), Compute(device), values=batches_of(communicator.rank))
        param = pb.SolverParameter(base_lr=0.1, lr_policy="fixed", type="SGD", momentum=0.9, max_iter=6)
        worker = Worker(Solver(param, net), communicator)
        weights = torch.rand(worker.weights.shape, generator=torch.Generator().manual_seed(communicator.rank))
        worker.weights.copy_(weights, non_blocking=True)
        part = parse(strategy).begin(worker)
        while worker.remaining:
            worker.begin_round()
            part.round()
            worker.end_round()
        part.finish()
        assert worker.weights.device == part.model().device == device
        return worker.weights

    return together(2, work)


@pytest.mark.parametrize(("strategy", "transport"), CASES)
def test_a_strategy_ends_with_the_weights_of_workers_on_cpus(strategy: str, transport: str) -> None:
    expected = trained(strategy, TRANSPORTS[transport], CPU)
    with pretend_gpu() as gpu:
        found = trained(strategy, TRANSPORTS[transport], GPU)
        assert all(map(on_gpu, found))
    if parse(strategy).synchronous:
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.cpu(), other, **ROUNDING)
    assert torch.equal(found[0], found[1])
    assert [str(stop) for stop in gpu.stops if " at netdsl/distributed/" not in stop.where] == []


def test_mpca_never_waits_for_a_broadcast() -> None:
    with pretend_gpu() as gpu:
        trained("mpca", in_shared_memory, GPU)
    assert [str(stop) for stop in gpu.stops if "strategies/phases.py" in stop.where] == []


def test_recorded_times_include_the_gpus_work() -> None:
    def work(communicator: Communicator) -> None:
        message = from_text(NORMED, pb.NetParameter)
        message.state.phase = pb.TRAIN
        net = ModuleNet.open(Model(message), Compute(GPU), values=batches_of(0))
        param = pb.SolverParameter(base_lr=0.1, lr_policy="fixed", type="SGD", max_iter=6)
        worker = Worker(Solver(param, net), communicator)
        worker.train(4)
        assert gpu.ahead == [1, 1, 1]  # the exchange stays an iteration ahead
        assert gpu.caught_up == 0
        mean = communicator.mean
        communicator.mean = lambda *what: caught_up.append(gpu.caught_up) or mean(*what)
        worker.mean_weights()

    caught_up: list[int] = []

    with pretend_gpu() as gpu:
        in_shared_memory(1, work)
    assert caught_up == [1]  # before the exchange, so that its time isn't included


def rounds(param: pb.SolverParameter, device: torch.device, journal: Journal, stop: int = -1) -> Tensor:
    """Return the weights of the first of two workers after training to the end, or to the end of a round."""
    plan = Run(open_settings(param), parse("averaging:tau=3"), 2, devices=(device,)).settled()

    opening = threading.Lock()  # threads share the random numbers that fill weights

    def work(communicator: Communicator) -> Tensor:
        with ExitStack() as stack:
            with opening:
                worker = stack.enter_context(open_worker(plan, communicator))

            def requested() -> Action:
                return Action.STOP if worker.record.number == stop else Action.NONE

            Loop(worker, plan.strategy, journal=journal, requested=requested).run()
            return worker.weights

    return in_shared_memory(2, work)[0]


def test_a_run_resumes_from_its_journal(param: pb.SolverParameter, tmp_path: Path) -> None:
    layers = param.net_param.layer
    layers.remove(next(layer for layer in layers if layer.type == "Dropout"))  # Dropout draws random numbers
    next(layer for layer in layers if layer.type == "InnerProduct").bottom[0] = "data"
    on_cpu = rounds(param, CPU, Journal(tmp_path / "cpu", Retention()))
    with pretend_gpu():
        undisturbed = rounds(param, GPU, Journal(tmp_path / "undisturbed", Retention()))
        journal = Journal(tmp_path / "gpu", Retention())
        stopped = rounds(param, GPU, journal, stop=2)
        found = rounds(param, GPU, journal)
        assert on_gpu(found)
    assert not torch.equal(stopped, undisturbed)
    assert torch.equal(found, undisturbed)
    torch.testing.assert_close(found.cpu(), on_cpu, **ROUNDING)
