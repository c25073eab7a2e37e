"""ONNX's convolutions, matrices and pooling in Caffe's layers, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from converters.from_onnx import from_onnx
from netdsl.errors import ConversionError

pytest.importorskip("onnxruntime")

random = np.random.default_rng(1)


def kinds(model) -> list[str]:
    return [layer.type for layer in model.net.layer[1:]]


@pytest.mark.parametrize(
    ("settings", "kernel"),
    [
        ("strides=[2,1], pads=[1,2,1,2]", (3, 5)),
        ("pads=[0,0,1,2], strides=[2,2]", (3, 3)),
        ("pads=[2,1,0,0]", (3, 3)),
        ("pads=[1,0,0,2], dilations=[2,3]", (3, 2)),
        ('auto_pad="SAME_UPPER", strides=[2,2]', (2, 3)),
        ('auto_pad="SAME_LOWER", strides=[1,2]', (2, 3)),
        ('auto_pad="VALID"', (2, 3)),
    ],
)
def test_convolution_with_any_padding_is_one_layer(graph, same, settings, kernel) -> None:
    weight, bias = random.standard_normal((6, 2, *kernel)), random.standard_normal(6)
    model = graph(f"y = Conv <{settings}, group=2> (x, w, b)", x=(2, 4, 10, 9), w=weight, b=bias)
    made = same(model)
    assert kinds(made) == ["Convolution"]
    assert made.net.layer[1].convolution_param.group == 2


def test_what_is_symmetric_keeps_its_filters(graph, same) -> None:
    weight = random.standard_normal((6, 4, 3, 3))
    made = same(graph("y = Conv <pads=[1,1,1,1], strides=[2,2], dilations=[1,1]> (x, w)", x=(2, 4, 10, 9), w=weight))
    layer = made.net.layer[1]
    wanted = pb.ConvolutionParameter(num_output=6, bias_term=False, pad=[1], kernel_size=[3], stride=[2])
    assert layer.convolution_param == wanted
    np.testing.assert_array_equal(made.weights[layer.name][0], weight.astype(np.float32))


def test_convolution_over_one_axis(graph, same) -> None:
    weight = random.standard_normal((6, 4, 3))
    same(graph("y = Conv <pads=[1,0], strides=[2]> (x, w)", x=(2, 4, 10), w=weight))


@pytest.mark.parametrize(
    "settings",
    [
        "strides=[2,3], pads=[1,0,1,0]",
        "strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]",
        "strides=[2,2], output_padding=[1,0]",
        "strides=[2,2], pads=[0,2,1,0]",
        "strides=[2,2], dilations=[2,1], pads=[1,1,2,1]",
        'strides=[2,2], auto_pad="SAME_UPPER"',
        "strides=[2,2], output_shape=[15,14]",
    ],
)
def test_transposed_convolution_is_deconvolution(graph, same, settings) -> None:
    weight, bias = random.standard_normal((4, 3, 3, 4)), random.standard_normal(6)
    made = same(graph(f"y = ConvTranspose <{settings}, group=2> (x, w, b)", x=(2, 4, 7, 6), w=weight, b=bias))
    assert kinds(made) == ["Deconvolution"]


def test_matrices_are_inner_products(graph, same) -> None:
    text = "a = Gemm <transB=1, alpha=0.5, beta=2.0> (x, w, b)  y = Gemm (a, v)"
    made = same(graph(text, x=(3, 7), w=random.standard_normal((5, 7)), b=random.standard_normal(5),
                      v=random.standard_normal((5, 4))))  # fmt: skip
    assert kinds(made) == ["InnerProduct", "InnerProduct"]


def test_a_matrix_is_applied_to_the_last_axis_whatever_is_before(graph, same) -> None:
    made = same(graph("y = MatMul (x, w)", x=(3, 2, 7), w=random.standard_normal((7, 5))))
    assert made.net.layer[1].inner_product_param.axis == 2


@pytest.mark.parametrize(
    "settings",
    [
        "kernel_shape=[3,3], strides=[2,2]",
        "kernel_shape=[3,3], strides=[2,2], ceil_mode=1",
        "kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,0]",
        "kernel_shape=[3,3], strides=[2,2], pads=[0,0,1,1]",
        'kernel_shape=[3,3], strides=[2,2], auto_pad="SAME_UPPER"',
    ],
)
def test_max_pooling_where_caffe_rounds_to_the_same_windows(graph, same, settings) -> None:
    assert kinds(same(graph(f"y = MaxPool <{settings}> (x)", x=(2, 4, 10, 8)))) == ["Pooling"]


@pytest.mark.parametrize(
    ("settings", "layers"),
    [
        ("kernel_shape=[3,3], strides=[2,2]", ["Pooling"]),
        ("kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], count_include_pad=1", ["Pooling"]),
        ("kernel_shape=[3,3], pads=[1,1,1,1]", ["Pooling", "Scale"]),
        ("kernel_shape=[3,3], strides=[2,2], ceil_mode=1", ["Pooling"]),
        ("kernel_shape=[2,2], pads=[0,0,1,1]", ["Convolution", "Pooling", "Scale"]),
        ("kernel_shape=[3,3], strides=[2,2], pads=[0,0,1,1], count_include_pad=1", ["Pooling", "Scale"]),
    ],
)
def test_averages_are_divided_as_onnx_divides(graph, same, settings, layers) -> None:
    assert kinds(same(graph(f"y = AveragePool <{settings}> (x)", x=(2, 4, 10, 8)))) == layers


def test_global_pooling(graph, same) -> None:
    made = same(graph("y = GlobalAveragePool (x) z = GlobalMaxPool (x)", "y", "z", x=(2, 4, 5, 3)))
    assert [layer.pooling_param.global_pooling for layer in made.net.layer[1:]] == [True, True]


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_padding_by_itself(graph, same, value) -> None:
    sizes = np.array([0, 0, 1, -1, 0, 0, 2, 3])
    same(graph("y = Pad (x, p, v)", x=(2, 4, 5, 4), p=sizes, v=np.float32(value)))


def test_windows_that_caffe_does_not_have_are_told(graph) -> None:
    text = """a = MaxPool <kernel_shape=[2,2], pads=[0,0,1,1]> (x)
              b = MaxPool <kernel_shape=[2,2], dilations=[2,2]> (x)  y = Add (a, b)"""
    with pytest.raises(ConversionError, match=r"MaxPool \('a'\): .*no such windows.*MaxPool \('b'\): dilations"):
        from_onnx(graph(text, x=(2, 4, 10, 8)))
