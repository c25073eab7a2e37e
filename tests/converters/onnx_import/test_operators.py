"""ONNX's operators as Caffe's layers, compared with onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import LimitError
from converters.onnx_import import from_onnx
from netdsl.errors import ConversionError
from tests.converters.nets import layer_types

pytest.importorskip("onnxruntime")

random = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("Relu (x)", ["ReLU"]),
        ("LeakyRelu <alpha=0.2> (x)", ["ReLU"]),
        ("Elu <alpha=0.7> (x)", ["ELU"]),
        ("Selu (x)", ["ELU", "Power"]),
        ("Sigmoid (x)", ["Sigmoid"]),
        ("Tanh (x)", ["TanH"]),
        ("Softplus (x)", ["BNLL"]),
        ("Abs (x)", ["AbsVal"]),
        ("Exp (x)", ["Exp"]),
        ("Neg (x)", ["Power"]),
        ("HardSigmoid <alpha=0.3> (x)", ["Power", "Clip"]),
        ("HardSwish (x)", ["Power", "Clip", "Eltwise"]),
        ("Mish (x)", ["BNLL", "TanH", "Eltwise"]),
        ("Softmax (x)", ["Softmax"]),
        ("LogSoftmax <axis=1> (x)", ["Softmax", "Log"]),
        ("LRN <size=3, alpha=0.1, bias=2.0> (x)", ["LRN"]),
        ("Dropout (x)", ["Dropout"]),
    ],
)
def test_activations_are_imported(graph, same, text, layers) -> None:
    opset = 18 if "Mish" in text else 17
    assert layer_types(same(graph(f"y = {text}", x=(2, 4, 5, 3), opset=opset))) == layers


@pytest.mark.parametrize("text", ["Log (x)", "Sqrt (x)", "Reciprocal (x)", "Pow (x, c)", "Pow (c, x)"])
def test_functions_of_positive_values_are_imported(graph, same, text) -> None:
    same(graph(f"y = {text}", x=(2, 4, 5), c=np.float32(1.7)), positive=True, verify=False)


@pytest.mark.parametrize(
    ("lower", "upper", "kind"), [(0, 6, "Clip"), (-1, 1, "Clip"), (0, None, "ReLU"), (None, 1, "Clip")]
)
def test_limits_are_imported(graph, same, lower, upper, kind) -> None:
    given = {name: np.float32(value) for name, value in (("l", lower), ("u", upper)) if value is not None}
    made = same(graph(f"y = Clip (x, {'l' if 'l' in given else ''}, {'u' if 'u' in given else ''})", x=(2, 5), **given))
    assert layer_types(made) == [kind]


def test_slopes_by_channel_and_shared_slopes_are_imported(graph, same) -> None:
    text = "a = PRelu (x, s) y = PRelu (a, t)"
    made = same(graph(text, x=(2, 4, 5, 3), s=random.standard_normal((4, 1, 1)), t=np.array([0.3])))
    assert [layer.prelu_param.channel_shared for layer in made.net.layer[1:]] == [False, True]


def test_slopes_that_differ_within_a_channel_are_refused(graph, same) -> None:
    with pytest.raises(ConversionError, match=r"PRelu \('y'\): the slopes of shape \[3\] differ within a channel"):
        same(graph("y = PRelu (x, s)", x=(2, 3, 5, 3), s=random.standard_normal(3)))


def test_normalization_is_imported_with_its_statistics(graph, same) -> None:
    parts = {name: random.uniform(0.5, 2, 4) for name in "sbmv"}
    made = same(graph("y = BatchNormalization <epsilon=0.01> (x, s, b, m, v)", x=(2, 4, 5, 3), **parts))
    assert layer_types(made) == ["BatchNorm", "Scale"]
    assert made.weights[made.net.layer[1].name][2].tolist() == [1.0]


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Div"])
@pytest.mark.parametrize("shape", [(), (1,), (4, 1, 1), (1, 4, 1, 1), (3,), (5, 3), (4, 1, 3), (2, 1, 1, 1)])
def test_arithmetic_with_constants_is_imported(graph, same, op, shape) -> None:
    constant = random.uniform(0.5, 2, shape)
    same(graph(f"y = {op} (x, c)", x=(2, 4, 5, 3), c=constant))
    if op == "Sub":
        same(graph(f"y = {op} (c, x)", x=(2, 4, 5, 3), c=constant))


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Max", "Min"])
@pytest.mark.parametrize("shape", [(2, 4, 5, 3), (2, 4, 1, 1), (2, 1, 5, 3), (2, 4, 1, 3), (5, 1)])
def test_arithmetic_between_blobs_is_imported(graph, same, op, shape) -> None:
    same(graph(f"y = {op} (a, b)", a=(2, 4, 5, 3), b=shape))
    same(graph(f"y = {op} (a, b)", a=shape, b=(2, 4, 5, 3)))


def test_gates_become_scales_with_a_dynamic_batch(graph, same) -> None:
    made = same(graph("y = Mul (a, b)", a=(1, 4, 5, 3), b=(1, 4, 1, 1)))
    assert layer_types(made) == ["Reshape", "Scale"] or layer_types(made) == ["Flatten", "Scale"]
    assert made.net.layer[-1].scale_param.axis == 0
    for layer in made.net.layer:
        for shape in layer.input_param.shape:
            shape.dim[0] = 6
    same_shapes = {"a": (6, 4, 5, 3), "b": (6, 4, 1, 1)}
    same(graph("y = Mul (a, b)", **same_shapes))


def test_division_of_blobs_is_imported(graph, same) -> None:
    same(graph("y = Div (a, b)", a=(2, 4), b=(2, 4)), positive=True)
    same(graph("y = Div (c, b)", b=(2, 4), c=np.float32(1.0)), positive=True)


def test_sums_of_many_blobs_are_imported(graph, same) -> None:
    made = same(graph("y = Sum (a, b, c) z = Mean (a, b, c)", "y", "z", a=(2, 4), b=(2, 4), c=(2, 4)))
    assert layer_types(made) == ["Eltwise", "Eltwise"]


@pytest.mark.parametrize(
    "text",
    [
        "ReduceMean <axes=[2,3]> (x)",
        "ReduceMean <axes=[2,3], keepdims=0> (x)",
        "ReduceMean <axes=[-1]> (x)",
        "ReduceMean <axes=[1], keepdims=1> (x)",
        "ReduceMax <axes=[2,3], keepdims=0> (x)",
        "ReduceL1 <axes=[1,2,3], keepdims=0> (x)",
        "ReduceL2 <axes=[1]> (x)",
        "ReduceSumSquare <axes=[3]> (x)",
        "ArgMax <axis=1> (x)",
        "ArgMax <axis=-1, keepdims=0> (x)",
    ],
)
def test_reductions_are_imported(graph, same, text) -> None:
    same(graph(f"y = {text}", x=(2, 4, 5, 3)))


def test_axes_may_be_an_input(graph, same) -> None:
    same(graph("y = ReduceSum <keepdims=0> (x, a)", x=(2, 4, 5), a=np.array([2])))


@pytest.mark.parametrize(
    ("text", "constants", "layers"),
    [
        ("Reshape (x, c)", [0, 4, -1], ["Reshape"]),
        ("Reshape (x, c)", [2, -1], ["Flatten"]),
        ("Reshape (x, c)", [-1, 3], ["Reshape"]),
        ("Flatten <axis=2> (x)", [], ["Flatten"]),
        ("Flatten <axis=3> (x)", [], ["Reshape"]),
        ("Flatten (x)", [], ["Flatten"]),
        ("Squeeze (x, c)", [1], ["Reshape"]),
        ("Unsqueeze (x, c)", [0, -1], ["Reshape"]),
        ("Transpose <perm=[0,3,1,2,4]> (x)", [], ["Permute"]),
        ("Transpose <perm=[0,2,1,3,4]> (x)", [], ["Reshape"]),
        ("Expand (x, c)", [1, 7, 1, 1, 3], ["Tile"]),
        ("Tile (x, c)", [1, 2, 1, 3, 1], ["Tile", "Tile"]),
        ("Gather <axis=2> (x, c)", 1, ["Slice", "Reshape", "Silence"]),
        ("Gather <axis=2> (x, c)", [1], ["Slice", "Silence"]),
        ("Identity (x)", [], ["Split"]),
    ],
)
def test_operators_that_move_values_are_imported(graph, same, text, constants, layers) -> None:
    made = same(graph(f"y = {text}", x=(2, 1, 4, 5, 3), c=np.array(constants, np.int64)))
    assert layer_types(made) == layers


def test_slicing_and_joining_are_imported(graph, same) -> None:
    text = """a, b = Split <axis=1> (x, sizes)  j = Concat <axis=1> (b, a)  s = Slice (j, starts, ends, axes)
              y = Concat <axis=2> (s, s)"""
    same(graph(text, x=(2, 7, 5, 3), sizes=np.array([3, 4]), starts=np.array([1, -4]), ends=np.array([99, -1]),
               axes=np.array([1, 2])))  # fmt: skip


def test_slicing_in_newer_opsets_is_imported(graph, same) -> None:
    same(graph("a, b, c = Split <axis=1, num_outputs=3> (x) y = Concat <axis=1> (c, a, b)", x=(2, 8, 3), opset=18))


@pytest.mark.parametrize(
    ("settings", "scale", "kind"),
    [
        ('mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"', 2, "Deconvolution"),
        ('mode="nearest"', 3, "Deconvolution"),
        (
            'mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"',
            1.5,
            "ResizeNearestNeighbor",
        ),
        ('mode="nearest"', 1.5, "ResizeNearestNeighbor"),
        ('mode="nearest", nearest_mode="floor"', 1.5, "ResizeNearestNeighbor"),
        ('mode="linear"', 2, "ResizeBilinear"),
        ('mode="linear", coordinate_transformation_mode="asymmetric"', 0.5, "ResizeBilinear"),
        ('mode="linear", coordinate_transformation_mode="align_corners"', 2, "Interp"),
        ('mode="linear", coordinate_transformation_mode="pytorch_half_pixel"', 2, "ResizeBilinear"),
    ],
)
def test_resizing_is_imported(graph, same, settings, scale, kind) -> None:
    scales = np.array([1, 1, scale, scale], np.float32)
    assert layer_types(same(graph(f"y = Resize <{settings}> (x, , s)", x=(2, 3, 6, 4), s=scales))) == [kind]
    sizes = np.array([2, 3, 6 * scale, 4 * scale]).astype(np.int64)
    assert layer_types(same(graph(f"y = Resize <{settings}> (x, , , s)", x=(2, 3, 6, 4), s=sizes))) == [kind]


@pytest.mark.parametrize(
    "text",
    ['DepthToSpace <blocksize=2, mode="CRD"> (x)', "DepthToSpace <blocksize=2> (x)", "SpaceToDepth <blocksize=2> (x)"],
)
def test_pixel_shuffles_are_imported(graph, same, text) -> None:
    same(graph(f"y = {text}", x=(2, 12, 4, 6)))


def test_an_old_softmax_covers_all_axes_from_its_axis_on(graph, same) -> None:
    same(graph("y = Softmax <axis=1> (x)", x=(2, 4, 5, 3), opset=11))


pytest.importorskip("onnxruntime")

weights_random = np.random.default_rng(1)


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
    weight, bias = weights_random.standard_normal((6, 2, *kernel)), weights_random.standard_normal(6)
    model = graph(f"y = Conv <{settings}, group=2> (x, w, b)", x=(2, 4, 10, 9), w=weight, b=bias)
    made = same(model)
    assert layer_types(made) == ["Convolution"]
    assert made.net.layer[1].convolution_param.group == 2


def test_symmetric_padding_keeps_the_filters(graph, same) -> None:
    weight = weights_random.standard_normal((6, 4, 3, 3))
    made = same(graph("y = Conv <pads=[1,1,1,1], strides=[2,2], dilations=[1,1]> (x, w)", x=(2, 4, 10, 9), w=weight))
    layer = made.net.layer[1]
    wanted = pb.ConvolutionParameter(num_output=6, bias_term=False, pad=[1], kernel_size=[3], stride=[2])
    assert layer.convolution_param == wanted
    np.testing.assert_array_equal(made.weights[layer.name][0], weight.astype(np.float32))


def test_convolution_over_one_axis_is_imported(graph, same) -> None:
    weight = weights_random.standard_normal((6, 4, 3))
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
    weight, bias = weights_random.standard_normal((4, 3, 3, 4)), weights_random.standard_normal(6)
    made = same(graph(f"y = ConvTranspose <{settings}, group=2> (x, w, b)", x=(2, 4, 7, 6), w=weight, b=bias))
    assert layer_types(made) == ["Deconvolution"]


def test_matrices_are_inner_products(graph, same) -> None:
    text = "a = Gemm <transB=1, alpha=0.5, beta=2.0> (x, w, b)  y = Gemm (a, v)"
    made = same(graph(text, x=(3, 7), w=weights_random.standard_normal((5, 7)), b=weights_random.standard_normal(5),
                      v=weights_random.standard_normal((5, 4))))  # fmt: skip
    assert layer_types(made) == ["InnerProduct", "InnerProduct"]


def test_a_matrix_is_applied_to_the_last_axis_of_any_shape(graph, same) -> None:
    made = same(graph("y = MatMul (x, w)", x=(3, 2, 7), w=weights_random.standard_normal((7, 5))))
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
def test_max_pooling_is_imported_where_caffe_has_the_same_windows(graph, same, settings) -> None:
    assert layer_types(same(graph(f"y = MaxPool <{settings}> (x)", x=(2, 4, 10, 8)))) == ["Pooling"]


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
def test_averages_are_divided_as_in_onnx(graph, same, settings, layers) -> None:
    assert layer_types(same(graph(f"y = AveragePool <{settings}> (x)", x=(2, 4, 10, 8)))) == layers


def test_global_pooling_is_imported(graph, same) -> None:
    made = same(graph("y = GlobalAveragePool (x) z = GlobalMaxPool (x)", "y", "z", x=(2, 4, 5, 3)))
    assert [layer.pooling_param.global_pooling for layer in made.net.layer[1:]] == [True, True]


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_padding_without_a_convolution_is_imported(graph, same, value) -> None:
    sizes = np.array([0, 0, 1, -1, 0, 0, 2, 3])
    same(graph("y = Pad (x, p, v)", x=(2, 4, 5, 4), p=sizes, v=np.float32(value)))


def test_windows_that_caffe_lacks_are_refused(graph) -> None:
    text = """a = MaxPool <kernel_shape=[2,2], pads=[0,0,1,1]> (x)
              b = MaxPool <kernel_shape=[2,2], dilations=[2,2]> (x)  y = Add (a, b)"""
    with pytest.raises(
        ConversionError, match=r"MaxPool \('a'\): .*can't produce these windows.*MaxPool \('b'\): dilations"
    ):
        from_onnx(graph(text, x=(2, 4, 10, 8)))


def test_the_zeros_that_padding_adds_to_filters_are_limited(graph, monkeypatch) -> None:
    model = graph("y = Conv <pads=[0,0,9,9]> (x, w)", x=(2, 4, 10, 9), w=np.ones((6, 4, 3, 3)))
    monkeypatch.setenv("NETDSL_LIMITS", "memory=1K")
    with pytest.raises(LimitError, match="with those before it needs"):
        from_onnx(model)
