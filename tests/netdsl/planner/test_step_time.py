"""The seconds of a step, from data sheets with sums by hand, and from measurements."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, LinearLayer, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.errors import NetError
from netdsl.layer import BringsData
from netdsl.layers import LAYERS
from netdsl.net.build import build
from netdsl.net.graph import Phase, connect, filter_layers, state_of
from netdsl.planner.device import Arithmetic, Device, MeasuredOperation, NumberType, read_device
from netdsl.planner.layer_costs import LayerCost, layer_costs
from netdsl.planner.operations import ConvolutionPass, ConvolutionShape, OperationKind, TensorOperation
from netdsl.planner.step_time import MemoryLayout, StepTime, measured_name, sizes_of, step_time, update_operation
from zoo import catalogue

GPU = Device(
    name="gpu",
    title="",
    type="cuda",
    memory=10**9,
    bandwidth=200.0,
    bandwidth_share=0.5,
    arithmetic={
        NumberType.FLOAT32: Arithmetic(100, 0.5, 0.25, 0.8),
        NumberType.FLOAT16: Arithmetic(1000, 0.5, 0.25, 0.8),
    },
    tile=4,
    overhead=3.0,
    host_link=10.0,
    sources={},
)
COPY = TensorOperation("copy_", 5, 400)
PRODUCT = TensorOperation("mm", 1600, 400, OperationKind.PRODUCT)
SHAPE = ConvolutionShape(2, 8, 6, 9, 9, 7, 7, 1, 2, (1, 1), (0, 0), (1, 1), 2)  # 3 filters and 8 values per group
CONVOLUTION = TensorOperation("convolution", 3000, 400, OperationKind.CONVOLUTION, SHAPE, ConvolutionPass.TOP)
GRADIENT = replace(CONVOLUTION, convolution_pass=ConvolutionPass.WEIGHT_GRADIENT)
NOTHING = TensorOperation("update", 0, 0)


def time_of(*operations: TensorOperation, device: Device = GPU, **settings: object) -> StepTime:
    return step_time([LayerCost("layer", "Type", operations, (), 0, 0, 0, 0)], NOTHING, device, **settings)


def test_operations_other_than_products_take_the_time_of_their_bytes() -> None:
    assert time_of(COPY).forward == 3 + 400 / (200 * 0.5)


def test_products_take_the_time_of_their_arithmetic_or_bytes() -> None:
    assert time_of(PRODUCT).forward == 3 + 1600 / (100 * 0.8)
    assert time_of(replace(PRODUCT, bytes=4000)).forward == 3 + 4000 / (200 * 0.5)


def test_a_convolution_is_slower_where_tiles_are_not_full_and_in_its_gradients() -> None:
    assert time_of(CONVOLUTION).forward == 3 + 3000 / (100 * 0.5 * 3 / 4)
    assert time_of(GRADIENT).forward == 3 + 3000 / (100 * 0.25 * 3 / 4)


def test_half_precision_halves_the_bytes_and_convolutions_convert_layouts() -> None:
    halves = NumberType.FLOAT16
    assert time_of(COPY, number_type=halves).forward == 3 + 200 / (200 * 0.5)
    computing = 3000 / (1000 * 0.5 * 3 / 4)
    assert time_of(CONVOLUTION, number_type=halves).forward == pytest.approx(3 + computing + 2 * 200 / (200 * 0.5))
    last = time_of(CONVOLUTION, number_type=halves, layout=MemoryLayout.CHANNELS_LAST)
    assert last.forward == pytest.approx(3 + computing)


def test_tf32_is_used_on_request() -> None:
    ampere = replace(GPU, arithmetic={**GPU.arithmetic, NumberType.TF32: Arithmetic(400, 0.5, 0.25, 0.8)})
    asked = {"device": ampere, "number_type": NumberType.TF32}
    last = MemoryLayout.CHANNELS_LAST
    assert time_of(CONVOLUTION, **asked, layout=last).forward == 3 + 3000 / (400 * 0.5 * 3 / 4)
    assert time_of(CONVOLUTION, **asked).forward == 3 + 3000 / (400 * 0.5 * 3 / 4) + 2 * 400 / (200 * 0.5)
    assert time_of(PRODUCT, **asked).forward == 3 + 1600 / (400 * 0.8)
    assert time_of(CONVOLUTION, device=ampere) == time_of(CONVOLUTION)


def test_unsupported_number_types_are_an_error() -> None:
    with pytest.raises(NetError, match="device 'gpu' doesn't support bfloat16, only float32, float16"):
        time_of(COPY, number_type=NumberType.BFLOAT16)


def test_a_step_is_the_sum_of_its_parts() -> None:
    layers = [LayerCost("a", "A", (COPY, COPY), (COPY,), 0, 0, 0, 0), LayerCost("b", "B", (), (PRODUCT,), 0, 0, 0, 0)]
    found = step_time(layers, TensorOperation("update", 9, 800), GPU, input_bytes=50)
    assert [(layer.name, layer.forward, layer.backward) for layer in found.layers] == [("a", 14, 7), ("b", 0, 23)]
    assert (found.update, found.transfer, found.seconds) == (11, 5, 14 + 7 + 23 + 11 + 5)
    assert step_time(layers, COPY, replace(GPU, host_link=None), input_bytes=50).transfer == 0
    assert step_time(layers, COPY, GPU, NumberType.FLOAT16).update == time_of(COPY).forward  # weights are float32


@pytest.mark.parametrize(
    ("name", "number_type", "layout", "images"),
    [
        ("v100", "float32", "channels-first", 367),
        ("v100", "float16", "channels-last", 1200),
        ("a100", "tf32", "channels-first", 938),
        ("a100", "float16", "channels-last", 2470),
    ],
)
def test_resnet_50_is_about_as_fast_as_nvidia_measured(name: str, number_type: str, layout: str, images: int) -> None:
    """The published figures are images per second on one GPU, from the README of ResNet50 v1.5 for PyTorch in NVIDIA's
    DeepLearningExamples."""
    costs, update = resnet_50(256)
    found = step_time(costs, update, read_device(name), NumberType(number_type), MemoryLayout(layout))
    assert 256 / found.seconds == pytest.approx(images, rel=0.15)


@cache
def resnet_50(batch: int) -> tuple[tuple[LayerCost, ...], TensorOperation]:
    entry = catalogue.entry_of("resnet-50")
    whole = filter_layers(entry.train_val.message, state_of(entry.train_val.message, Phase.TRAIN))
    layers = [layer for layer in whole.layer if not issubclass(LAYERS[layer.type], BringsData)]
    data = RDDLayer("data", shape=[batch, 3, 224, 224]), RDDLayer("label", shape=[batch])
    built = build(connect(NetParams("resnet", *data, *layers).message))
    return layer_costs(built, "cuda"), update_operation(built, entry.solver)


def measured(operation: TensorOperation, seconds: float) -> MeasuredOperation:
    name, sizes = measured_name(operation), sizes_of(operation)
    return MeasuredOperation(name, sizes, operation.flops, operation.bytes, seconds)


def test_a_measured_operation_takes_its_measured_time() -> None:
    rows = measured(COPY, 40.0), measured(CONVOLUTION, 70.0), measured(GRADIENT, 90.0)
    device = replace(GPU, measured=rows)
    assert time_of(COPY, device=device).forward == pytest.approx(43)
    assert time_of(CONVOLUTION, device=device).forward == pytest.approx(73)
    assert time_of(GRADIENT, device=device).forward == pytest.approx(93)
    assert time_of(PRODUCT, device=device).forward == time_of(PRODUCT).forward
    assert time_of(COPY, device=device, number_type=NumberType.FLOAT16) == time_of(COPY, number_type=NumberType.FLOAT16)


def test_an_operation_is_as_fast_as_measured_ones_of_similar_size() -> None:
    larger = replace(COPY, flops=20, bytes=1600)
    between = replace(COPY, flops=10, bytes=800)
    # 2 and 8 times the minimum time
    device = replace(GPU, measured=(measured(COPY, 2 * 2.0), measured(larger, 8 * 8.0)))
    assert time_of(between, device=device).forward == pytest.approx(3 + 4 * 4.0)
    assert time_of(replace(COPY, flops=1, bytes=80), device=device).forward < 3 + 0.4 * 4


def test_a_convolutions_speed_depends_on_its_shape() -> None:
    deep = replace(CONVOLUTION, convolution=replace(SHAPE, channels=800))
    device = replace(GPU, measured=(measured(CONVOLUTION, 300.0), measured(deep, 30.0)))
    middling = replace(CONVOLUTION, convolution=replace(SHAPE, channels=400))
    assert 33 < time_of(middling, device=device).forward < 100


def net(*layers: pb.LayerParameter) -> pb.NetParameter:
    return NetParams("net", RDDLayer("data", shape=[2, 3, 8, 8]), RDDLayer("label", shape=[2]), *layers).message


def test_an_update_touches_every_learned_value_once() -> None:
    shared = {"param": [{"name": "shared"}]}
    message = net(
        ConvLayer("conv1", ["data"], kernel=3, num_filters=3, pad=1, bias_term=False, **shared),
        ConvLayer("conv2", ["conv1"], kernel=3, num_filters=3, pad=1, bias_term=False, **shared),
        LinearLayer("ip", ["conv2"], num_outputs=5, bias_term=True, param=[{"lr_mult": 0}, {}]),
        SoftmaxWithLoss("loss", ["ip", "label"]),
    )
    built = build(connect(filter_layers(message, state_of(message, Phase.TRAIN))))
    values = 3 * 3 * 3 * 3 + 5
    assert update_operation(built, pb.SolverParameter(type="SGD")) == TensorOperation(
        "update", 5 * values, 5 * 4 * values
    )
    assert update_operation(built, pb.SolverParameter(type="Adam")) == TensorOperation(
        "update", 8 * values, 7 * 4 * values
    )
    assert step_time(layer_costs(built), update_operation(built, pb.SolverParameter(type="SGD")), GPU).backward > 0
