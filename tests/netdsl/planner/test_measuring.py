"""Measuring this machine: the timed nets match the stated costs, and belong to no user."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, NetParams, PoolLayer, RDDLayer, ReLU, SoftmaxWithLoss
from netdsl.net.build import Built, build
from netdsl.net.graph import Phase, connect, filter_layers, state_of
from netdsl.planner.device import NumberType, device_text, read_device
from netdsl.planner.layer_costs import layer_costs
from netdsl.planner.measuring import TrainingStep, measure_device, sample_nets, timed_operations
from netdsl.planner.operations import ConvolutionPass, ConvolutionShape, OperationKind
from netdsl.planner.step_time import step_time, update_operation
from zoo import catalogue

SGD = pb.SolverParameter(type="SGD", momentum=0.9)


def small_net() -> NetParams:
    return NetParams(
        "small",
        RDDLayer("data", shape=[2, 3, 8, 8]),
        RDDLayer("label", shape=[2, 4, 4]),
        ConvLayer("conv1", ["data"], kernel=3, num_filters=4, pad=1),
        ReLU("relu1", ["conv1"], in_place=True),
        PoolLayer("pool1", ["conv1"], kernel=2, stride=2),
        ConvLayer("conv2", ["pool1"], kernel=1, num_filters=5),
        SoftmaxWithLoss("loss", ["conv2", "label"]),
    )


def built_of(net: pb.NetParameter) -> Built:
    return build(connect(filter_layers(net, state_of(net, Phase.TRAIN))))


def test_the_operations_of_a_step_are_those_of_its_layers() -> None:
    step = TrainingStep(small_net().message, SGD)
    timed = timed_operations(step.differentiate)
    assert all(seconds > 0 for _, seconds in timed)
    costs = layer_costs(step.module.built)
    said = Counter(operation for cost in costs for operation in (*cost.forward, *cost.backward))
    assert not said - Counter(operation for operation, _ in timed)


def test_both_gradients_of_a_convolution_share_its_time() -> None:
    x, weight, top = torch.rand(2, 3, 8, 8), torch.rand(4, 3, 3, 3), torch.rand(2, 4, 6, 6)
    settings = [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False]
    timed = timed_operations(lambda: torch.ops.aten.convolution_backward(top, x, weight, *settings))
    passes = [operation.convolution_pass for operation, _ in timed]
    assert passes == [ConvolutionPass.BOTTOM_GRADIENT, ConvolutionPass.WEIGHT_GRADIENT]
    assert timed[0][1] == timed[1][1]


def test_a_measured_machine_has_a_file_that_predicts_a_steps_time(tmp_path: Path) -> None:
    parts: list[float] = []
    device = measure_device("mine", [small_net()], rounds=2, done=parts.append)
    assert sum(parts) == 1
    path = tmp_path / "mine.json"
    path.write_text(device_text(device))
    assert read_device(path) == device
    built = built_of(small_net().message)
    update = update_operation(built, SGD)
    found = step_time(layer_costs(built), update, device)
    assert found.forward > 0 and found.backward > 0
    measured = next(each.seconds for each in device.measured if each.name == "update")
    assert found.update == pytest.approx(device.overhead + measured)
    assert {each.name for each in device.measured} >= {"relu_", "convolution: top", "convolution: weight gradient"}
    assert device.arithmetic[NumberType.FLOAT32].peak > 0


def convolutions(built: Built) -> set[ConvolutionShape]:
    """Return the shapes of convolutions, whatever the batch."""
    operations = [operation for cost in layer_costs(built) for operation in cost.forward]
    shapes = [each.convolution for each in operations if each.kind is OperationKind.CONVOLUTION]
    return {replace(shape, batch=1) for shape in shapes if shape is not None}


def test_the_sample_nets_share_no_convolutions_with_the_validation_nets() -> None:
    sampled = set().union(*(convolutions(built_of(net.message)) for net in sample_nets()))
    assert len(sampled) > 50
    for name in ("lenet", "alexnet", "googlenet", "vgg-16", "resnet-50"):
        judged = convolutions(built_of(catalogue.entry_of(name).deploy()))
        assert judged and not judged & sampled
