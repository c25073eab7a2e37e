"""ONNX models whose height and width are free: forms of layers at several sizes, whole nets, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from converters.lengths import rebuilt
from converters.onnx import export_onnx, to_onnx, verify
from converters.onnx.library import inference_session
from converters.rewriting import make_fully_convolutional
from converters.running import difference, edge_values, with_made_up_weights
from netdsl import Net
from netdsl.errors import ConversionError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model, open_net
from netdsl.net.sample_inputs import sample_inputs
from tests.converters.nets import net_of

pytest.importorskip("onnxruntime")

FREE = {"x": ("N", 4, "H", "W")}
OWN = (14, 12)
SIZES = [(5, 7), (6, 9), (7, 6), (8, 17), (9, 12), (10, 10), (11, 13), (13, 8), (12, 11)]
XAVIER = "weight_filler { type: 'xavier' }"
ONE_STRIDE = "kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2 pad_h: 1 pad_w: 0"

# Their numbers of windows, their divisors, or the last windows that Caffe drops differ.
POOLINGS = [
    f"kernel_size: {kernel} stride: {stride} pad: {pad}"
    for kernel, stride, pad in (
        (2, 2, 0), (3, 2, 0), (3, 2, 1), (2, 2, 1), (3, 3, 1), (3, 1, 1), (5, 3, 2), (4, 4, 3), (3, 3, 2), (2, 1, 0),
    )
]  # fmt: skip
FORMS = {
    **{
        f"{pool} {settings}": ("Pooling", f"pooling_param {{ pool: {pool} {settings} }}")
        for pool in ("MAX", "AVE", "AVE_EXC_PAD")
        for settings in (*POOLINGS, ONE_STRIDE, "kernel_size: 3 stride: 2 pad: 1 ceil_mode: false")
    },
    "MAX with longer strides": ("Pooling", "pooling_param { kernel_size: 2 stride: 3 }"),
    "STOCHASTIC": ("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 }"),
    "MAX of all": ("Pooling", "pooling_param { global_pooling: true }"),
    "AVE of all": ("Pooling", "pooling_param { pool: AVE global_pooling: true }"),
    "LRN": ("LRN", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL alpha: 2 }"),
    "LRN across": ("LRN", "lrn_param { local_size: 3 alpha: 2 }"),
    "Interp": ("Interp", "interp_param { zoom_factor: 3 pad_beg: -1 pad_end: -2 }"),
    "Interp shrinking": ("Interp", "interp_param { shrink_factor: 2 }"),
    "Interp by both": ("Interp", "interp_param { shrink_factor: 2 zoom_factor: 3 }"),
    "Interp full": ("Interp", "interp_param { full_zoom_factor: 2 }"),
    "Interp to a size": ("Interp", "interp_param { height: 5 width: 13 }"),
    "CropCenter": ("CropCenter", "crop_center_param { crop_size: [0, 0, 2, 1] }"),
    "ShuffleChannel": ("ShuffleChannel", "shuffle_channel_param { group: 2 }"),
    "Flatten": ("Flatten", "flatten_param { axis: 0 end_axis: 1 }"),
    "Flatten channels": ("Flatten", "flatten_param { axis: 1 end_axis: 2 }"),
    "Reshape": ("Reshape", "reshape_param { axis: 1 num_axes: 1 shape { dim: 2 dim: -1 } }"),
    "Normalize": ("Normalize", "norm_param { across_spatial: false }"),
    "Normalize items": ("Normalize", "norm_param { across_spatial: true }"),
    "MVN": ("MVN", ""),
    "Softmax": ("Softmax", ""),
    "Deconvolution": (
        "Deconvolution",
        f"convolution_param {{ num_output: 3 kernel_size: 4 stride: 2 pad: 1 {XAVIER} }}",
    ),
    "Upsample": ("Upsample", "upsample_param { scale: 2 }"),
    "Reorg reversed": ("Reorg", "reorg_param { stride: 2 reverse: true }"),
}


def net_with(layers: str) -> Net:
    """Return a net of layers after an image."""
    shape = f"shape {{ dim: [1, 4, {OWN[0]}, {OWN[1]}] }}"
    return net_of(f'layer {{ name: "x" type: "Input" top: "x" input_param {{ {shape} }} }}{layers}')


def worst_difference(net: Net, model: Any, sizes: list[tuple[int, int]]) -> float:
    """Return the worst difference between a model in onnxruntime and the net, built again for each size."""
    session, worst = inference_session(model.SerializeToString()), 0.0
    names = [value.name for value in session.get_outputs()]
    for seed, size in enumerate(sizes):
        shapes = {"x": (1 + seed % 2, 4, *size)}
        built = rebuilt(net.module.built, shapes)
        inputs = sample_inputs(built, shapes, seed)
        found, expected = session.run(names, dict(inputs)), edge_values(built, inputs)
        edges = {built.graph.blobs[edge]: edge for edge in built.graph.outputs}
        pairs = zip(found, (expected[edges[name]] for name in names), strict=True)
        worst = max(worst, *(difference(*pair) for pair in pairs))
    return worst


@pytest.mark.parametrize("opset", [None, 11])
@pytest.mark.parametrize("case", FORMS)
def test_a_form_is_right_at_all_sizes(case: str, opset: int | None) -> None:
    kind, settings = FORMS[case]
    net = net_with(f'layer {{ name: "l" type: "{kind}" bottom: "x" top: "y" {settings} }}')
    model = to_onnx(net, free=FREE, opset=opset)
    lengths = [dim.dim_param or dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    assert lengths == ["N", 4, "H", "W"]
    assert worst_difference(net, model, SIZES) < 1e-4  # STOCHASTIC divides by sums that can be near 0


SEVERAL_LAYERS = {
    "crop of an enlarged image": """
        layer { name: "p" type: "Pooling" bottom: "x" top: "p" pooling_param { kernel_size: 3 stride: 2 } }
        layer { name: "i" type: "Interp" bottom: "p" top: "i" interp_param { zoom_factor: 3 } }
        layer { name: "c" type: "Crop" bottom: "i" bottom: "p" top: "y" crop_param { axis: 2 offset: 1 offset: 2 } }""",
    "resizing to another blob": """
        layer { name: "p" type: "Pooling" bottom: "x" top: "p" pooling_param { kernel_size: 3 stride: 2 } }
        layer { name: "i" type: "Interp" bottom: "p" bottom: "x" top: "y" }""",
    "a scale of each place": """
        layer { name: "c" type: "Convolution" bottom: "x" top: "c"
                convolution_param { num_output: 1 kernel_size: 1 weight_filler { type: "xavier" } } }
        layer { name: "s" type: "ChannelScale" bottom: "x" bottom: "c" top: "y" }""",
}


@pytest.mark.parametrize("case", SEVERAL_LAYERS)
def test_layers_with_two_bottoms_are_right_at_all_sizes(case: str) -> None:
    net = net_with(SEVERAL_LAYERS[case])
    assert worst_difference(net, to_onnx(net, free=FREE), SIZES) < 2e-5


EVEN = [(6, 8), (8, 6), (10, 16), (2, 4)]


def test_unpooling_is_right_at_all_even_sizes() -> None:
    net = net_with(
        """layer { name: "p" type: "Pooling" bottom: "x" top: "p" top: "mask"
                   pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: "u" type: "Upsample" bottom: "p" bottom: "mask" top: "y" upsample_param { scale: 2 } }"""
    )
    assert worst_difference(net, to_onnx(net, free=FREE), EVEN) == 0


def test_rearranged_pixels_are_right_at_all_even_sizes() -> None:
    net = net_with('layer { name: "r" type: "Reorg" bottom: "x" top: "y" reorg_param { stride: 2 } }')
    model = to_onnx(net, free=FREE)
    assert worst_difference(net, model, EVEN) == 0
    assert "H must be 14, or differ from it by a multiple of 2" in model.metadata_props[-1].value


def test_a_window_that_can_be_behind_the_image_is_refused() -> None:
    net = net_with(
        'layer { name: "l" type: "Pooling" bottom: "x" top: "y" pooling_param { pool: AVE kernel_size: 2 stride: 3 } }'
    )
    with pytest.raises(ConversionError, match="layer 'l' of type Pooling can't be exported for images of any size"):
        to_onnx(net, free=FREE)


CROSS = """
    layer { name: "down" type: "Pooling" bottom: "x" top: "down" pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "up" type: "Upsample" bottom: "down" top: "up" upsample_param { scale: 2 } }
    layer { name: "sum" type: "Eltwise" bottom: "x" bottom: "up" top: "y" }"""


def test_lengths_that_a_net_takes_only_in_steps_are_stated() -> None:
    model = to_onnx(net_with(CROSS), free=FREE)
    assert {each.key: each.value for each in model.metadata_props}["lengths"].splitlines() == [
        "H must be 14, or differ from it by a multiple of 2",
        "W must be 12, or differ from it by a multiple of 2",
    ]


def test_a_model_is_run_at_smaller_and_larger_sizes_that_its_net_takes() -> None:
    net = net_with(CROSS)
    report = verify(to_onnx(net, free=FREE), net)
    own, smaller, larger = (shapes["x"] for shapes in report.shapes)
    assert report.passed and own == (1, 4, 14, 12)
    assert all(less < length < more for less, length, more in zip(smaller[2:], own[2:], larger[2:], strict=True))
    assert all(length % 2 == 0 for length in (*smaller[2:], *larger[2:]))


def test_lengths_with_the_same_name_stay_equal() -> None:
    net = net_of(
        """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 4, 9, 9] } } }
        layer { name: "r" type: "Permute" bottom: "x" top: "t" permute_param { order: [0, 1, 3, 2] } }
        layer { name: "s" type: "Eltwise" bottom: "x" bottom: "t" top: "y" }"""
    )
    report = verify(to_onnx(net, free={"x": (1, 4, "S", "S")}), net)
    assert report.passed and all(shapes["x"][2] == shapes["x"][3] for shapes in report.shapes)
    with pytest.raises(ConversionError, match="'H', because its length is fixed by layer 's' of type Eltwise"):
        to_onnx(net, free={"x": (1, 4, "H", "W")})


def test_an_axis_that_a_fully_connected_layer_fixes_is_refused() -> None:
    net = net_with(
        """layer { name: "p" type: "Pooling" bottom: "x" top: "p" pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: "fc" type: "InnerProduct" bottom: "p" top: "y" inner_product_param { num_output: 3 } }"""
    )
    with pytest.raises(
        ConversionError,
        match=r"axis 2 of input 'x' can't be free as 'H', because its length is fixed by layer 'fc' of type "
        r"InnerProduct.*--fully-convolutional, or write 14 in place of H",
    ):
        to_onnx(net, free=FREE)
    assert verify(to_onnx(net, free={"x": ("N", 4, *OWN)}), net).passed


def test_all_layers_whose_forms_need_a_size_are_named() -> None:
    net = net_with(
        """layer { name: "c" type: "Convolution" bottom: "x" top: "c"
                   convolution_param { num_output: 4 kernel_size: 3 stride: 2 weight_filler { type: "xavier" } } }
        layer { name: "boxes" type: "PriorBox" bottom: "c" bottom: "x" top: "y" prior_box_param { min_size: 4 } }
        layer { name: "pyramid" type: "SPP" bottom: "c" top: "z" spp_param { pyramid_height: 2 } }"""
    )
    with pytest.raises(ConversionError, match="fixed by layer 'boxes' of type PriorBox, 'pyramid' of type SPP; write"):
        to_onnx(net, free=FREE)


@pytest.mark.parametrize(
    ("free", "reason"),
    [
        ({"y": ("N", 4, "H", "W")}, "the net has no input 'y'; name one of these: x"),
        ({"x": ("N", "H", "W")}, "input 'x' has 4 axes"),
        ({"x": ("N", 4, 15, "W")}, "axis 2 of input 'x' has the length 14 in the net, not 15"),
        ({"x": (1, 4, "S", "S")}, "'S' have the lengths 12, 14 in the net"),
    ],
)
def test_axes_that_do_not_fit_the_inputs_are_refused(free: Any, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason):
        to_onnx(net_with(CROSS), free=free)


def catalogued(name: str, *, convolutional: bool = False) -> Model:
    """Return a net of the catalogue with made-up weights."""
    model = with_made_up_weights(deploy_model(open_net(name)))
    return make_fully_convolutional(model) if convolutional else model


def net_of_images(layers: str, size: int) -> Model:
    shape = f"shape {{ dim: [1, 3, {size}, {size}] }}"
    data = f'layer {{ name: "data" type: "Input" top: "data" input_param {{ {shape} }} }}'
    return with_made_up_weights(open_net(net_of(data + layers).message))


SUPER_RESOLUTION = """
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param { num_output: 8 kernel_size: 5 pad: 2 } }
    layer { name: "relu1" type: "PReLU" bottom: "conv1" top: "conv1" }
    layer { name: "up" type: "Deconvolution" bottom: "conv1" top: "up"
            convolution_param { num_output: 3 kernel_size: 9 stride: 3 pad: 4 } }"""
SEGMENTATION = """
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param { num_output: 8 kernel_size: 3 pad: 20 } }
    layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
    layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1" pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "pool2" type: "Pooling" bottom: "pool1" top: "pool2" pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "score" type: "Convolution" bottom: "pool2" top: "score"
            convolution_param { num_output: 5 kernel_size: 3 } }
    layer { name: "up" type: "Deconvolution" bottom: "score" top: "up"
            convolution_param { num_output: 5 kernel_size: 8 stride: 4 } }
    layer { name: "crop" type: "Crop" bottom: "up" bottom: "data" top: "crop" crop_param { axis: 2 offset: 7 } }
    layer { name: "prob" type: "Softmax" bottom: "crop" top: "prob" }"""
NETS: dict[str, Callable[[], Model]] = {
    "squeezenet": lambda: catalogued("squeezenet-1.1"),
    "resnet": lambda: catalogued("cifar-resnet-20"),
    "shufflenet": lambda: catalogued("shufflenet"),
    "segmentation": lambda: net_of_images(SEGMENTATION, 33),
    "super-resolution": lambda: net_of_images(SUPER_RESOLUTION, 20),
}


@pytest.mark.parametrize("name", NETS)
def test_a_net_computes_the_same_at_three_sizes(name: str, tmp_path: Path) -> None:
    report = export_onnx(NETS[name](), tmp_path / "net.onnx", free={"data": (1, 3, "H", "W")}, tolerance=1e-4)
    assert report is not None and len({shapes["data"][2:] for shapes in report.shapes}) == 3
