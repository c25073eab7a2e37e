"""Training on the device in NETDSL_DEVICE: results as on the CPU, repeatable bits, and the predicted memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from caffe_proto import caffe_pb2 as pb
from netdsl.model.model import Model
from netdsl.net.build import set_batch
from netdsl.net.compute_precision import ComputePrecision, products_of, repeatable
from netdsl.net.graph import Phase
from netdsl.net.memory import PeakMemory
from netdsl.planner.memory import training_memory
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet
from tests.device import DEVICE
from zoo import catalogue

on_a_gpu = pytest.mark.skipif(DEVICE.type != "cuda", reason="says something on a GPU only")
CPU = torch.device("cpu")


def batches(count: int, size: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    return [
        {"data": random.random((size, 1, 28, 28), np.float32), "label": random.integers(0, 10, size)}
        for _ in range(count)
    ]


def lenet(size: int) -> pb.NetParameter:
    net = catalogue.entry_of("lenet").train_val.message
    net.state.phase = pb.TRAIN
    for layer in net.layer:
        layer.data_param.batch_size = size
    return net


def solver_of(device: torch.device, kind: str, precision: ComputePrecision = ComputePrecision.EXACT) -> Solver:
    torch.manual_seed(3)
    net = ModuleNet.open(Model(lenet(16)), Compute(device, precision), values=batches(4, 16))
    settings = pb.SolverParameter(
        type=kind, base_lr=0.0001 if kind == "RMSProp" else 0.001, lr_policy="fixed",
        momentum=0.0 if kind in ("AdaGrad", "RMSProp") else 0.9,
        weight_decay=5e-4, clip_gradients=5.0, rms_decay=0.98, max_iter=100,
        delta=1e-3,  # with less, or with longer RMSProp steps, sums in another order lead elsewhere, on a CPU too
    )  # fmt: skip
    return Solver(settings, net)


def trained(device: torch.device, kind: str, precision: ComputePrecision = ComputePrecision.EXACT) -> torch.Tensor:
    solver = solver_of(device, kind, precision)
    solver.step(4)
    return solver.weights.buffer.cpu().clone()


@pytest.mark.parametrize("kind", ["SGD", "Nesterov", "AdaGrad", "AdaDelta", "RMSProp", "Adam"])
def test_a_solver_takes_the_same_steps_as_on_the_cpu(kind: str) -> None:
    torch.testing.assert_close(trained(DEVICE, kind), trained(CPU, kind), rtol=1e-4, atol=1e-5)


def test_the_same_training_has_the_same_bits() -> None:
    with repeatable(DEVICE, ComputePrecision.EXACT):
        assert torch.equal(trained(DEVICE, "SGD"), trained(DEVICE, "SGD"))


@on_a_gpu
def test_products_are_exact_unless_tf32_is_requested() -> None:
    x, weight = torch.randn(8, 64, 16, 16, device=DEVICE), torch.randn(64, 64, 3, 3, device=DEVICE)
    wanted = F.conv2d(x.double(), weight.double())
    gaps = {}
    for precision in (ComputePrecision.EXACT, ComputePrecision.TF32):
        with products_of(precision):
            gaps[precision] = ((F.conv2d(x, weight) - wanted).abs().max() / wanted.abs().max()).item()
    assert gaps[ComputePrecision.EXACT] < 1e-5 < gaps[ComputePrecision.TF32] < 1e-2


@on_a_gpu
def test_training_uses_the_predicted_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    # cuDNN's algorithms may take more memory, which isn't predicted
    monkeypatch.setattr(torch.backends.cudnn, "enabled", False)
    memory_of_a_step(16)  # the first run loads libraries, which keep memory
    measured, foreseen = memory_of_a_step(2048)
    assert foreseen == pytest.approx(measured, rel=0.1)


def memory_of_a_step(size: int) -> tuple[int, int]:
    """Return the bytes that training takes, and the predicted bytes."""
    gc.collect()
    peak = PeakMemory(DEVICE)
    net = ModuleNet.open(Model(lenet(size)), Compute(DEVICE, cuda_graph=False), values=batches(2, size))
    settings = pb.SolverParameter(base_lr=1e-6, lr_policy="fixed", momentum=0.9, max_iter=10)
    solver = Solver(settings, net)
    solver.step(1)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    solver.step(1)
    measured = peak.bytes()
    set_batch(net.built, size)
    assert net.built.graph.phase is Phase.TRAIN
    return measured, training_memory(net.built, settings, DEVICE.type).total
