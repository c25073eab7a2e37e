"""The memory of a training step, with its parts counted by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from benchmarks.planner_memory import BATCHES, SHAPES, measured, predicted, write_images
from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.data.batches.reading import Loading
from netdsl.net.build import Built, build, set_batch
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.graph import Phase, resolve
from netdsl.planner.memory import Allocation, CachedAllocation, MemoryUse, training_memory
from netdsl.planner.operations import TensorOperation
from netdsl.solver.rules import TYPES

MB = 1 << 20
SIZE = 4096
NET = f"""
layer {{ name: "in" type: "Input" top: "x" top: "y"
         input_param {{ shape {{ dim: 8 dim: {SIZE} }} shape {{ dim: 8 }} }} }}
layer {{ name: "hidden" type: "InnerProduct" bottom: "x" top: "hidden"
         inner_product_param {{ num_output: {SIZE} bias_term: false }} }}
layer {{ name: "scores" type: "InnerProduct" bottom: "hidden" top: "scores"
         inner_product_param {{ num_output: 16 bias_term: false }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "y" top: "loss" }}
"""
WEIGHTS = 4 * (SIZE * SIZE + 16 * SIZE)
CONVOLUTION = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 32 dim: 64 dim: 64 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv" convolution_param { num_output: 16 kernel_size: 1 } }
layer { name: "sigmoid" type: "Sigmoid" bottom: "conv" top: "sigmoid" }
layer { name: "loss" type: "Reduction" bottom: "sigmoid" top: "loss" loss_weight: 1 }
"""


def net(text: str = NET) -> Built:
    return build(resolve(from_text(text, pb.NetParameter), Phase.TRAIN))


def solver(kind: str = "SGD", **settings: object) -> pb.SolverParameter:
    return pb.SolverParameter(type=kind, base_lr=0.1, lr_policy="fixed", **settings)


@pytest.mark.parametrize("precision", [ComputePrecision.BF16, ComputePrecision.FP16])
def test_products_take_two_bytes_per_value_in_half_precision(precision: ComputePrecision) -> None:
    text = CONVOLUTION.replace("num_output: 16", "num_output: 256")
    exact, found = training_memory(net(text), solver()), training_memory(net(text), solver(), precision=precision)
    bottom, top = 4 * 32 * 64 * 64, 4 * 256 * 64 * 64  # values
    assert exact.activations == pytest.approx(4 * top, rel=0.01)
    assert found.activations == pytest.approx(2 * top + 2 * bottom, rel=0.01)  # stored after rounding
    assert found.parameters == exact.parameters


def use(text: str = NET, device: str = "cpu", kind: str = "SGD", **settings: object) -> MemoryUse:
    return training_memory(net(text), solver(kind, **settings), device)


@pytest.mark.parametrize("kind", TYPES)
def test_a_large_weight_is_counted_with_its_gradient_and_history(kind: str) -> None:
    found = use(kind=kind)
    histories = 2 if kind in ("Adam", "AdaDelta") else 1
    assert found.parameters == WEIGHTS
    assert found.gradients == WEIGHTS
    assert histories * WEIGHTS <= found.history < histories * WEIGHTS + 2 * MB
    computed = 4 * SIZE * SIZE  # before it is added to the gradient
    assert found.total == pytest.approx((2 + histories) * WEIGHTS + computed, rel=0.02)


def test_a_gpu_has_memory_for_the_scaled_gradients_of_all_weights() -> None:
    found = use(device="cuda")
    assert found.history == 2 * WEIGHTS  # its velocity and its update


def test_several_batches_in_an_iteration_take_no_more_than_one() -> None:
    assert use(iter_size=3) == use()


def test_batch_dependent_memory_grows_with_the_batch() -> None:
    built = net(CONVOLUTION)
    set_batch(built, 12)
    small, large = use(CONVOLUTION), training_memory(built, solver())
    assert large.data == 3 * small.data == 3 * 4 * 4 * 32 * 64 * 64
    assert large.activations > 2.9 * small.activations
    assert large.parameters == small.parameters


def test_prefetched_batches_use_main_memory_and_not_a_gpus() -> None:
    text = CONVOLUTION.replace('"Input"', '"Data"').replace("input_param", "data_param { batch_size: 4 } input_param")
    batch = 4 * 4 * 32 * 64 * 64
    assert training_memory(net(text), solver(), loading=Loading(prefetch=5)).data == 6 * batch
    assert training_memory(net(text), solver(), "cuda", loading=Loading(prefetch=5)).data == batch


def test_an_in_place_layer_takes_no_memory() -> None:
    relu = 'layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" } layer { name: "sigmoid"'
    assert use(CONVOLUTION.replace('layer { name: "sigmoid"', relu)).total == use(CONVOLUTION).total


def test_a_convolution_on_a_cpu_copies_its_tensors_into_another_layout() -> None:
    bottom, top = 4 * 4 * 32 * 64 * 64, 4 * 4 * 16 * 64 * 64
    assert use(CONVOLUTION).workspace == bottom + top  # while computing the gradient of the weights
    assert use(CONVOLUTION, "cuda").workspace == 0


def test_the_workspace_can_be_given() -> None:
    def rule(operation: TensorOperation) -> int:
        return 100 * MB if operation.convolution else 0

    assert training_memory(net(CONVOLUTION), solver(), "cuda", workspace=rule).workspace == 100 * MB


def test_the_net_can_still_be_trained() -> None:
    built = net()
    training_memory(built, solver())
    assert [layer.weight.shape for layer in built.layers[1:3]] == [(SIZE, SIZE), (16, SIZE)]
    assert all(layer.weight.grad is None for layer in built.layers[1:3])
    assert torch.zeros(1).item() == 0


def test_a_cpu_allocates_exactly_and_a_gpu_whole_blocks() -> None:
    exact, cached = Allocation(), CachedAllocation()
    for size in (100, 700, 3 * MB, 12 * MB + 1):
        exact.change(size)
        cached.change(size)
    assert exact.total == 800 + 15 * MB + 1
    assert cached.total == 2 * MB + 20 * MB + 14 * MB
    cached.change(-3 * MB)
    assert cached.total == 2 * MB + 14 * MB


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process took at most")
@pytest.mark.parametrize("name", BATCHES)
def test_the_prediction_is_within_a_tenth(name: str, tmp_path: Path) -> None:
    write_images(tmp_path / "images", SHAPES.get(name, (3, 256, 256)))
    batch = BATCHES[name][0]
    assert predicted(name, batch).total == pytest.approx(measured(name, batch, tmp_path / "images"), rel=0.1)
