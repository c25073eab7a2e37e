"""A module with its data on one device and on several, and its training in float16."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError, SolverError
from netdsl.model.model import Model
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver import state
from netdsl.solver.events import Event, Notice
from netdsl.solver.rules import TYPES
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, LossScale, ModuleNet

NET = """
layer {{ name: "data" type: "HDF5Data" top: "x" top: "y" hdf5_data_param {{ source: "{list}" batch_size: {batch} }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "x" top: "p" inner_product_param {{ num_output: 2 }} }}
layer {{ name: "loss" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "loss" loss_weight: 2 }}
layer {{ name: "out" type: "Power" bottom: "x" top: "double" power_param {{ scale: 2 }} }}
"""
CPU = torch.device("cpu")


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    x = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["y"] = x, x[:, :2] + 1
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'rows.h5'}\n")
    return tmp_path / "list.txt"


def net_of(listed: Path, batch: int) -> pb.NetParameter:
    net = from_text(NET.format(list=listed, batch=batch), pb.NetParameter)
    net.state.phase = pb.TRAIN
    return net


def test_a_net_runs_on_the_data_of_its_data_layers(listed: Path) -> None:
    net = ModuleNet.open(Model(net_of(listed, 4)))
    assert (net.batch_size, net.built.shapes[0]) == (4, (4, 3))
    loss = net.forward()
    with h5py.File(listed.parent / "rows.h5") as file:
        first = file["x"][:4]
        expected = 2 * np.square(file["y"][:4]).sum() / 8  # the weights are zero
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(net.outputs()["double"], first * 2)
    assert net.loss_weights() == {"loss": 2}
    assert net.positions() == {"data": 1}
    net.seek({"data": 0})
    assert net.forward().item() == pytest.approx(expected, rel=1e-6)
    net.close()


def test_bfloat16_computes_coarsely_and_keeps_weights_in_full_precision(listed: Path) -> None:
    net = ModuleNet.open(Model(net_of(listed, 4)), Compute(precision=ComputePrecision.BF16))
    net.forward_backward()
    layer = net.built.layers[1]
    assert layer.weight.dtype == layer.weight.grad.dtype == torch.float32
    exact = ModuleNet.open(Model(net_of(listed, 4)))
    exact.forward_backward()
    gap = (exact.built.layers[1].weight.grad - layer.weight.grad).abs().max()
    assert 0 < gap < 0.05
    net.close()
    exact.close()


@pytest.mark.parametrize("precision", list(ComputePrecision))
def test_products_are_rounded_to_tf32_only_on_request(listed: Path, precision: ComputePrecision) -> None:
    seen = []

    def look(*_: object) -> None:
        seen.append((torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32))

    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    net = ModuleNet.open(Model(net_of(listed, 4)), Compute(precision=precision))
    net.built.layers[1].register_forward_hook(look)
    net.built.layers[1].weight.register_hook(look)
    net.forward_backward()
    wanted = precision is ComputePrecision.TF32
    assert seen == [(wanted, wanted)] * 2
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32) == before
    net.close()


def test_a_label_out_of_range_is_reported_with_the_layer(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["y"] = np.zeros((4, 3), np.float32), np.array([0, 1, 7, 1], np.float32)
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'rows.h5'}\n")
    net = net_of(tmp_path / "list.txt", 4)
    net.layer[2].type = "SoftmaxWithLoss"
    running = ModuleNet.open(Model(net))
    with pytest.raises(NetError, match=r"layer 'loss': label 7 isn't among the 2 classes, which are 0 to 1"):
        running.forward_backward()
    running.close()


REGRESSION = """
layer { name: "d" type: "Input" top: "x" top: "y" input_param { shape { dim: 6 dim: 3 } shape { dim: 6 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "p"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "loss" loss_weight: 1 }
"""
FIRST = 2.0**10  # a scale that suits all steps of this net, except those with labels that are TOO_LARGE
TOO_LARGE = 60000.0


def batches(count: int, overflowing: tuple[int, ...] = ()) -> list[dict[str, Tensor]]:
    xs = torch.randn(count, 6, 3, generator=torch.Generator().manual_seed(4))
    found = [{"x": x, "y": x[:, :2] * 2 + 1} for x in xs]
    for number in overflowing:
        found[number]["y"] = torch.full((6, 2), TOO_LARGE)
    return found


def solver_of(
    data: list[dict[str, Tensor]], folder: Path = Path(), events: list[Event] | None = None, patience: int = 2000,
    precision: ComputePrecision = ComputePrecision.FP16, **settings: object,
) -> Solver:  # fmt: skip
    torch.manual_seed(7)
    message = from_text(REGRESSION, pb.NetParameter)
    message.state.phase = pb.TRAIN
    net = ModuleNet.open(Model(message), Compute(precision=precision), values=data)
    if net.loss_scale is not None:
        net.loss_scale = LossScale(patience=patience)
        net.loss_scale.restore([FIRST, 0, 0])
    given = {
        "base_lr": 0.05,
        "lr_policy": "fixed",
        "type": "SGD",
        "momentum": 0.9,
        "snapshot_prefix": str(folder / "s"),
    }
    listen = (lambda event: None) if events is None else events.append
    return Solver(pb.SolverParameter(**given | settings), net, listen=listen)


def changing(solver: Solver) -> list[Tensor]:
    return [solver.weights.buffer.clone(), *(history.clone() for history in solver.updater.histories)]


@pytest.mark.parametrize("kind", TYPES)
def test_a_step_that_overflows_changes_nothing_and_the_next_one_counts(kind: str) -> None:
    momentum = 0.0 if kind in ("AdaGrad", "RMSProp") else 0.9
    solver = solver_of(batches(4, overflowing=(1,)), type=kind, momentum=momentum, weight_decay=0.01)
    solver.step(1)
    before = changing(solver)
    solver.step(1)
    assert all(map(torch.equal, changing(solver), before))
    assert solver.net.loss_scale.numbers() == [FIRST / 2, 0, 1]
    solver.step(1)
    assert not torch.equal(changing(solver)[0], before[0])
    assert solver.weights.buffer.isfinite().all()


@pytest.mark.parametrize("settings", [{}, {"clip_gradients": 0.5}, {"iter_size": 2}], ids=str)
def test_the_scale_leaves_no_trace_in_what_is_learned(settings) -> None:
    exact = solver_of(batches(8), precision=ComputePrecision.EXACT, **settings)
    half = solver_of(batches(8), **settings)
    exact.step(4)
    half.step(4)
    assert half.weights.buffer.dtype is torch.float32
    # float16 has 11 bits, and the products of four steps are that exact.
    torch.testing.assert_close(half.weights.buffer, exact.weights.buffer, rtol=0, atol=4e-3)
    assert not torch.equal(half.weights.buffer, exact.weights.buffer)


def test_gradients_below_float16s_range_are_learned_from() -> None:
    solver = solver_of(batches(1), momentum=0.0, base_lr=1.0)
    solver.net.module.losses = dict.fromkeys(solver.net.module.losses, 1e-07)
    before = solver.weights.buffer.clone()
    solver.step(1)
    steps = (solver.weights.buffer - before).abs()
    assert 1e-8 < steps.max() < 1e-6


def test_good_steps_in_a_row_double_the_scale() -> None:
    solver = solver_of(batches(8), patience=3)
    solver.step(2)
    assert solver.net.loss_scale.numbers() == [FIRST, 2, 0]
    solver.step(1)
    assert solver.net.loss_scale.numbers() == [FIRST * 2, 0, 0]


def test_a_resumed_training_ends_with_the_same_bits(tmp_path: Path) -> None:
    data = batches(12, overflowing=(2, 9))
    solver = solver_of(data, tmp_path, patience=4)
    solver.step(4)
    saved = solver.snapshot()
    solver.step(8)
    again = solver_of(data, tmp_path, patience=4)
    state.restore(again, saved.state)
    assert again.net.loss_scale.numbers() == [FIRST / 2, 1, 1]
    again.step(8)
    assert all(map(torch.equal, changing(again), changing(solver)))
    assert again.net.loss_scale.numbers() == solver.net.loss_scale.numbers() == [FIRST / 2, 2, 2]


def test_skipped_steps_are_reported_once() -> None:
    events: list[Event] = []
    solver = solver_of(batches(9, overflowing=(1, 2, 5)), events=events, display=4, base_lr=1e-6)
    solver.step(9)
    told = [event.text for event in events if isinstance(event, Notice)]
    assert told == [
        "iteration 4: 2 steps were skipped, because gradients exceeded the range of float16; the loss scale is 256",
        "iteration 8: 1 step was skipped, because gradients exceeded the range of float16; the loss scale is 128",
    ]


def test_skipping_every_step_is_an_error(tmp_path: Path) -> None:
    solver = solver_of(batches(1), tmp_path)
    infinite = torch.full_like(solver.weights.blobs[0].tensor, torch.inf)
    for _ in range(32):
        solver.weights.blobs[0].tensor.grad = infinite.clone()
        solver.apply_update()
    with pytest.raises(SolverError, match=r"all steps are skipped, .* train with --precision bf16"):
        solver.snapshot()


@pytest.mark.parametrize(
    "layer",
    [
        'type: "LRN" lrn_param { local_size: 3 alpha: 0.5 }',
        'type: "MVN"',
        'type: "Normalize" norm_param { across_spatial: false scale_filler { type: "constant" value: 20 } }',
        'type: "Reduction" reduction_param { operation: SUMSQ axis: 1 coeff: 1e-6 }',
        'type: "L1Loss" bottom: "zero"',
    ],
)
def test_squares_beyond_float16s_range_are_computed(layer: str) -> None:
    message = from_text(
        f"""layer {{ name: "d" type: "Input" top: "x" top: "y"
            input_param {{ shape {{ dim: 2 dim: 3 dim: 4 dim: 4 }} shape {{ dim: 2 dim: 3 dim: 4 dim: 4 }} }} }}
        layer {{ name: "conv" type: "Convolution" bottom: "x" top: "conv" convolution_param {{
            num_output: 3 kernel_size: 1 weight_filler {{ type: "constant" value: 1 }} }} }}
        layer {{ name: "zero" type: "Convolution" bottom: "y" top: "zero" convolution_param {{
            num_output: 3 kernel_size: 1 }} }}
        layer {{ name: "layer" bottom: "conv" top: "top" {layer} }}""",
        pb.NetParameter,
    )
    x = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(2)) * 2000
    found = {}
    for precision in (ComputePrecision.EXACT, ComputePrecision.FP16):
        net = ModuleNet.open(Model(message), Compute(precision=precision), values=[{"x": x, "y": torch.zeros_like(x)}])
        net.forward()
        found[precision] = net.outputs()["top"]
    torch.testing.assert_close(*found.values(), rtol=5e-3, atol=5e-3, check_dtype=False)
