"""The costs of layers, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.net.build import Built, build
from netdsl.net.graph import Phase, resolve
from netdsl.planner.layer_costs import LayerCost, layer_costs
from netdsl.planner.operations import ConvolutionPass, ConvolutionShape, OperationKind

INPUT = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 5 dim: 4 dim: 9 dim: 7 } } }'
CONVOLUTION = """
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv" convolution_param {
        num_output: 6 kernel_h: 3 kernel_w: 2 group: 2 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 1 } }
"""
SECOND = """
layer { name: "second" type: "Convolution" bottom: "conv" top: "second" convolution_param {
        num_output: 10 kernel_size: 1 bias_term: false } }
"""
FIRST_BYTES = 4 * (5 * 4 * 9 * 7 + 6 * 2 * 3 * 2 + 5 * 6 * 4 * 8)
SECOND_BYTES = 4 * (5 * 6 * 4 * 8 + 10 * 6 + 5 * 10 * 4 * 8)


def net(text: str) -> Built:
    return build(resolve(from_text(text, pb.NetParameter), Phase.TRAIN))


def costs(text: str, device: str = "cpu") -> dict[str, LayerCost]:
    return {cost.name: cost for cost in layer_costs(net(text), device)}


def names(operations: object) -> list[str]:
    return [operation.name for operation in operations]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_convolution_is_counted_as_by_hand(device: str) -> None:
    (operation,) = costs(INPUT + CONVOLUTION, device)["conv"].forward
    assert operation.kind is OperationKind.CONVOLUTION
    assert operation.flops == 2 * (5 * 6 * 4 * 8) * (4 // 2) * 3 * 2
    assert operation.bytes == FIRST_BYTES + 4 * 6
    assert operation.convolution == ConvolutionShape(5, 4, 6, 9, 7, 4, 8, 3, 2, (2, 1), (0, 1), (1, 1), 2)


def test_the_first_convolution_has_no_gradient_of_its_bottom() -> None:
    found = costs(INPUT + CONVOLUTION + SECOND)
    (weights,) = found["conv"].backward
    assert weights.convolution_pass is ConvolutionPass.WEIGHT_GRADIENT
    assert weights.convolution == found["conv"].forward[0].convolution
    assert (weights.flops, weights.bytes) == (found["conv"].forward[0].flops, FIRST_BYTES)
    passes = [operation.convolution_pass for operation in found["second"].backward]
    assert passes == [ConvolutionPass.BOTTOM_GRADIENT, ConvolutionPass.WEIGHT_GRADIENT]
    assert {operation.bytes for operation in found["second"].backward} == {SECOND_BYTES}


def test_a_deconvolution_costs_as_much_as_the_reverse_convolution() -> None:
    text = """layer { name: "up" type: "Deconvolution" bottom: "x" top: "up" convolution_param {
              num_output: 3 kernel_size: 4 stride: 2 } }"""
    up = costs(INPUT + text)["up"]
    assert up.forward[0].convolution == ConvolutionShape(5, 3, 4, 20, 16, 9, 7, 4, 4, (2, 2), (0, 0), (1, 1), 1)
    assert up.forward[0].convolution_pass is ConvolutionPass.BOTTOM_GRADIENT
    assert up.forward[0].flops == 2 * (5 * 4 * 9 * 7) * 3 * 4 * 4


def test_a_matrix_product_and_its_two_gradients() -> None:
    text = (
        INPUT
        + CONVOLUTION
        + """
    layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" inner_product_param { num_output: 11 } }"""
    )
    ip = costs(text)["ip"]
    assert names(ip.forward) == ["addmm"]
    assert ip.forward[0].flops == 2 * 5 * 11 * (6 * 4 * 8)
    products = [operation for operation in ip.backward if operation.kind is OperationKind.PRODUCT]
    assert [operation.flops for operation in products] == [ip.forward[0].flops] * 2


def test_batch_normalization_is_combined_with_the_scale_after_it() -> None:
    text = (
        INPUT
        + CONVOLUTION
        + """
    layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
    layer { name: "scale" type: "Scale" bottom: "norm" top: "scale" scale_param { bias_term: true } }"""
    )
    found = costs(text)
    assert "native_batch_norm" in names(found["norm"].forward)
    assert found["scale"].forward == found["scale"].backward == ()
    assert found["scale"].parameter_bytes == 4 * (6 + 6)
    assert found["scale"].activation_bytes == 4 * 5 * 6 * 4 * 8


def test_gradients_of_several_readers_are_added() -> None:
    text = (
        INPUT
        + CONVOLUTION
        + """
    layer { name: "sigmoid" type: "Sigmoid" bottom: "conv" top: "sigmoid" }
    layer { name: "sum" type: "Eltwise" bottom: "conv" bottom: "sigmoid" top: "sum" }"""
    )
    assert names(costs(text)["conv"].backward) == ["add", "convolution_backward"]
    assert names(costs(INPUT + CONVOLUTION)["conv"].backward) == ["convolution_backward"]


def test_dropout_keeps_a_byte_for_each_value_on_a_gpu() -> None:
    text = INPUT + CONVOLUTION + 'layer { name: "drop" type: "Dropout" bottom: "conv" top: "drop" }'
    values = 5 * 6 * 4 * 8
    (fused,) = costs(text, "cuda")["drop"].forward
    assert fused.bytes == values * (4 + 4 + 1)
    assert names(costs(text, "cpu")["drop"].forward) == ["bernoulli_", "div_", "mul"]


def test_labels_are_checked_on_a_cpu_only() -> None:
    text = """
    layer { name: "in" type: "Input" top: "x" top: "y" input_param { shape { dim: 5 dim: 3 } shape { dim: 5 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "y" top: "loss" }"""
    assert "aminmax" in names(costs(text, "cpu")["loss"].forward)
    assert "aminmax" not in names(costs(text, "cuda")["loss"].forward)


def test_the_net_is_unchanged() -> None:
    built = net(INPUT + CONVOLUTION)
    weight = built.layers[1].weight
    layer_costs(built)
    assert built.layers[1].weight is weight
    assert not isinstance(torch.zeros(1), torch._subclasses.FakeTensor)


def test_a_layer_that_works_in_pieces_is_counted_completely_and_quickly() -> None:
    text = """
    layer {{ name: "x" type: "Input" top: "x" input_param {{ shape {{ dim: {} dim: 64 dim: 64 dim: 64 }} }} }}
    layer {{ name: "lrn" type: "LRN" bottom: "x" top: "lrn" }}"""
    one, five = (costs(text.format(batch))["lrn"].forward for batch in (1, 5))
    assert sum(operation.bytes for operation in five) == 5 * sum(operation.bytes for operation in one)
    assert len(five) == 5 * len(one)
    assert len(costs(text.format(5), "cuda")["lrn"].forward) == len(one)


def test_code_that_needs_values_counts_as_reading_bottoms_and_writing_tops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unknowable.py").write_text("""
import caffe
class Own(caffe.Layer):
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(*bottom[0].data.shape)
    def forward(self, bottom, top): raise SystemExit("it ran")
    def backward(self, top, down, bottom): pass
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("netdsl.layer.user_code.PYTHON_LAYERS", {"unknowable"})
    python = 'python_param { module: "unknowable" layer: "Own" }'
    own = f'layer {{ name: "own" type: "Python" bottom: "conv" top: "own" {python} }}'
    found = costs(INPUT + CONVOLUTION + own)
    values = 5 * 6 * 4 * 8
    assert [(operation.name, operation.bytes) for operation in found["own"].forward] == [("Python", 2 * 4 * values)]
    assert found["own"].backward == found["own"].forward
    assert names(found["conv"].backward) == ["convolution_backward"]
