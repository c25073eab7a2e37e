"""Training and testing on a pretended GPU: the same numbers as on a CPU, and only code that shows numbers waits."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import repeat

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.model.model import Model
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver.evaluation import average_batches
from netdsl.solver.events import Event, TrainingProgress
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet
from tests.pretend_gpu import GPU, on_gpu, pretend_gpu

CPU = torch.device("cpu")

# Before BatchNorm a bias has no gradient except rounding errors, which rules such as Adam's amplify.
NET = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits:train" batch_size: 6 }
        transform_param { scale: 0.00390625 mirror: true crop_size: 7 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 2 bias_term: false weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
layer { name: "scale" type: "Scale" bottom: "norm" top: "norm" scale_param { bias_term: true }
        param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 } }
layer { name: "relu" type: "ReLU" bottom: "norm" top: "norm" }
layer { name: "pool" type: "Pooling" bottom: "norm" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "lrn" type: "LRN" bottom: "pool" top: "lrn" }
layer { name: "drop" type: "Dropout" bottom: "lrn" top: "lrn" }
layer { name: "ip" type: "InnerProduct" bottom: "lrn" top: "ip"
        param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" }
"""
SETTINGS = {"base_lr": 0.01, "lr_policy": "inv", "gamma": 0.1, "power": 0.5, "weight_decay": 0.01, "max_iter": 5}
SOLVERS = {
    "SGD": {"momentum": 0.9},
    "Nesterov": {"momentum": 0.9},
    "AdaGrad": {"delta": 1e-6},
    "RMSProp": {"delta": 1e-6, "rms_decay": 0.9},
    "AdaDelta": {"delta": 1e-6, "momentum": 0.9},
    "Adam": {"momentum": 0.9, "momentum2": 0.99, "delta": 1e-6},
}


def net_on(device: torch.device, phase: int = pb.TRAIN, **how: object) -> ModuleNet:
    message = from_text(NET, pb.NetParameter)
    message.state.phase = phase
    torch.manual_seed(4)
    return ModuleNet.open(Model(message), Compute(device, **how))


def weights_after(net: ModuleNet, steps: int = 3, during: Callable[[], object] = list, **settings: object) -> Tensor:
    """Return a net's weights after a first step and later. `during` is called after the first step."""
    solver = Solver(pb.SolverParameter(**SETTINGS | settings), net)
    torch.manual_seed(5)  # for dropout
    solver.step(1)
    during()
    solver.step(steps - 1)
    net.close()
    return solver.weights.buffer


@pytest.mark.parametrize(
    "settings",
    [
        *({"type": kind, **more} for kind, more in SOLVERS.items()),
        {"type": "SGD", "momentum": 0.9, "clip_gradients": 0.05},
        {"type": "Adam", "momentum": 0.9, "momentum2": 0.99, "clip_gradients": 1e9},
        {"type": "SGD", "momentum": 0.9, "regularization_type": "L1", "iter_size": 2, "clip_gradients": 0.1},
        {"type": "SGD", "momentum": 0.9, "average_loss": 3},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
def test_a_step_never_waits(settings) -> None:
    expected = weights_after(net_on(CPU), **settings)
    with pretend_gpu() as gpu:
        found = weights_after(net_on(GPU), during=gpu.stops.clear, **settings)
        assert on_gpu(found)
    assert gpu.own_stops() == []
    # LRN and pooling have their own implementations on a CPU, which sum in another order.
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_only_displayed_values_are_waited_for() -> None:
    events: list[Event] = []
    with pretend_gpu() as gpu:
        net = net_on(GPU)
        solver = Solver(pb.SolverParameter(**SETTINGS, display=2), net, listen=events.append)
        solver.step(1)
        gpu.stops.clear()
        events.clear()
        solver.step(2)
        net.close()
    assert sum(isinstance(event, TrainingProgress) for event in events) == 1
    assert len(gpu.own_stops()) == 3  # the loss and two outputs


@pytest.mark.parametrize("precision", [ComputePrecision.BF16, ComputePrecision.FP16])
@pytest.mark.parametrize("more", [{}, {"clip_gradients": 0.1, "iter_size": 2}], ids=str)
def test_half_precision_does_not_wait(precision, more) -> None:
    with pretend_gpu() as gpu:
        weights_after(net_on(GPU, precision=precision), during=gpu.stops.clear, type="SGD", **more)
    assert gpu.own_stops() == []


def test_a_test_waits_once_at_its_end() -> None:
    expected = average_batches(net_on(CPU, pb.TEST), 5)
    with pretend_gpu() as gpu:
        net = net_on(GPU, pb.TEST)
        found = []
        for batches in (3, 5):
            net.seek(dict.fromkeys(net.positions(), 0))
            gpu.stops.clear()
            found.append((average_batches(net, batches), gpu.own_stops()))
        net.close()
    assert len(found[0][1]) == len(found[1][1]) == 3  # the losses and two outputs
    assert found[1][0][0] == pytest.approx(expected[0], rel=1e-5)


def test_batches_come_from_pinned_memory_and_are_not_waited_for() -> None:
    with pretend_gpu() as gpu:
        net = net_on(GPU)
        read = net.feeds.read[0]
        batch = next(read)
        assert all(tensor.is_pinned() and not on_gpu(tensor) for tensor in batch)
        gpu.stops.clear()
        data, labels = net.feeds.next().values()
        assert on_gpu(data) and on_gpu(labels) and data.dtype is labels.dtype is torch.float32
        net.close()
    assert gpu.stops == []
    assert gpu.bytes_sent == {True: 6 * 7 * 7 + 6 * 4, False: gpu.bytes_sent[False]}  # during computation


@pytest.mark.parametrize("make", [np.ones, torch.ones, partial(torch.ones, device=GPU)])
def test_the_programs_batches_are_sent_to_the_gpu(make) -> None:
    net = """layer { name: "d" type: "Input" top: "x" input_param { shape { dim: 6 dim: 3 } } }
             layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" loss_weight: 1
                     inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }"""
    with pretend_gpu() as gpu:
        message = from_text(net, pb.NetParameter)
        message.state.phase = pb.TRAIN
        values = repeat({"x": make((6, 3))})
        found = weights_after(ModuleNet.open(Model(message), Compute(GPU), values=values), during=gpu.stops.clear)
        assert on_gpu(found)
    assert gpu.own_stops() == []


@pytest.mark.parametrize("precision", list(ComputePrecision))
def test_only_exact_training_on_a_gpu_uses_repeatable_algorithms(precision, monkeypatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    settings = pb.SolverParameter(**SETTINGS, net_param=from_text(NET, pb.NetParameter))
    before = chosen_algorithms()
    with open_solver(open_settings(settings), compute=Compute(CPU, precision)):
        assert chosen_algorithms() == before
    with pretend_gpu(), open_solver(open_settings(settings), compute=Compute(GPU, precision)):
        during = chosen_algorithms()
    exact = {"algorithms": True, "only warned of": True, "cudnn": True, "cublas": ":4096:8"}
    assert during == (exact if precision is ComputePrecision.EXACT else before)
    assert chosen_algorithms() == before


def chosen_algorithms() -> dict[str, object]:
    return {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "only warned of": torch.is_deterministic_algorithms_warn_only_enabled(),
        "cudnn": torch.backends.cudnn.deterministic,
        "cublas": os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    }
