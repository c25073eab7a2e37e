"""Every layer type that ONNX can express: onnxruntime compared with torch, and with Caffe's recorded results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import checker

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.onnx import to_onnx, verify
from converters.onnx.library import inference_session
from netdsl import Net
from netdsl.errors import ConversionError
from netdsl.layer import HasOnnxForm
from netdsl.layers import LAYERS
from tests.converters.nets import net_of

pytest.importorskip("onnxruntime")

OLDER_OPSETS = (11, 12, 13, 14, 17)  # each lacks a form of the next one that layers use
IMAGE = "2 6 9 7"  # batch, channels, height and width of most bottoms

# By name: the shapes of the bottoms and the layer's settings. A prefix "dialect: " names the net's dialect where it
# matters.
CASES = {
    "Add": (f"{IMAGE}; 2 6 1 1", ""),
    "Axpy": (f"2 6 1 1; {IMAGE}; {IMAGE}", ""),
    "BatchNorm": (IMAGE, "batch_norm_param { use_global_stats: false eps: 1e-3 }"),
    "BatchToSpaceND": ("8 3 5 4", "batch_to_space_nd_param { block_shape: 2 block_shape: 2 crops: [1, 0, 2, 1] }"),
    "BN": (IMAGE, "dialect: pspnet bn_param { slope_filler { type: 'constant' value: 2 } }"),
    "BN of happynear": (IMAGE, "dialect: happynear bn_param { slope_filler { type: 'constant' value: 2 } }"),
    "BN of the first happynear": (IMAGE, "dialect: happynear bn_param { scale_filler { value: 2 } var_eps: 0.5 }"),
    "BN segnet": (IMAGE, "bn_param { bn_mode: INFERENCE scale_filler { type: 'constant' value: 3 } }"),
    "BN of batch": (IMAGE, "dialect: segnet bn_param { scale_filler { type: 'constant' value: 3 } }"),
    "CenterLoss": (
        "5 6 2 1; 5",
        "dialect: caffe-face center_loss_param { num_output: 4 center_filler { type: 'gaussian' std: 1 } }",
    ),
    "CenterLoss of sizes": (
        "5 6; 5",
        "center_loss_param { num_output: 4 center_filler { type: 'gaussian' std: 1 } distance_type: 'L1' }",
    ),
    "ChannelScale": (f"{IMAGE}; 2 1 9 7", ""),
    "Concat": (f"{IMAGE}; 2 5 3 4", "concat_param { per_fla_fuse: true }"),
    "ConvolutionDepthwise": (IMAGE, "convolution_param { kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } }"),
    "CropCenter": (IMAGE, "crop_center_param { crop_size: [0, 1, 2, 0] }"),
    "PriorBoxClustered": (f"{IMAGE}; 2 3 40 50", "prior_box_param { width: 9.5 width: 20 height: 15 height: 8 }"),
    "DepthwiseConvolution": (
        IMAGE,
        "convolution_param { num_output: 6 kernel_size: 3 stride: 2 weight_filler { type: 'xavier' } }",
    ),
    "Convolution one sided": (
        IMAGE,
        "convolution_param { num_output: 4 kernel_size: 3 pad_l: 1 pad_t: 2 weight_filler { type: 'xavier' } }",
    ),
    "Convolution as in TensorFlow": (
        IMAGE,
        "convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad_type: 1 weight_filler { type: 'xavier' } }",
    ),
    "Deconvolution one sided": (
        IMAGE,
        "convolution_param { num_output: 4 kernel_size: 4 stride: 2 pad_l: 1 weight_filler { type: 'xavier' } }",
    ),
    "Crop of the batch": ("4 6 9 7; 2 6 9 7", "crop_param { axis: 0 offset: 1 offset: 0 offset: 0 offset: 0 }"),
    "DepthToSpace": ("2 12 3 5", "depth_to_space_param { block_size: 2 data_format: 'CRD' }"),
    "DepthToSpace NHWC": ("2 3 5 12", "depth_to_space_param { block_size: 2 data_format: 'NHWC' }"),
    "DummyData": ("", "dummy_data_param { shape { dim: 2 dim: 3 } data_filler { value: 4 } }"),
    "Dropout": (IMAGE, "dropout_param { dropout_ratio: 0.3 scale_train: false }"),
    "Flip": (IMAGE, "flip_param { flip_width: true flip_height: true }"),
    "HardSwish": (IMAGE, ""),
    "ImResize": ("3 2 9 7", "imresize_param { factor: 2 start_scale: 1 scale_gap: 0.2 }"),
    "ImResize to a size": (IMAGE, "imresize_param { target_spatial_height: 5 target_spatial_width: 12 }"),
    "Interp": (IMAGE, "interp_param { zoom_factor: 3 pad_beg: -1 pad_end: -2 }"),
    "Interp to a size": (IMAGE, "interp_param { height: 5 width: 13 }"),
    "Interp to another bottom's size": (f"{IMAGE}; 2 1 5 13", "interp_param { pad_beg: -1 }"),
    "Interp of all pixels": (IMAGE, "interp_param { full_zoom_factor: 2 }"),
    "L1Loss": ("2 6 1 1; 2 6", ""),
    "MVN": (IMAGE, "mvn_param { add_eps_before_sqrt: true eps: 0.5 }"),
    "Normalize": (IMAGE, "norm_param { add_eps_before_sqrt: false eps: 0.5 }"),
    "Normalize of happynear": ("2 6", "top: 'norm' normalize_param { normalize_type: 'L1' }"),
    "Normalize of TSN": ("2 6 3", "dialect: tsn"),
    "Maximum": (f"{IMAGE}; 2 6 1 7", ""),
    "Mul": (f"{IMAGE}; 2 1 9 7", ""),
    "Nms": ("2 3 12 9", "nms_param { threshold: 1.9 num_parts: 2 max_peaks: 3 }"),
    "Nms of more parts than maps": ("2 3 8 11", "nms_param { threshold: 0.2 num_parts: 4 max_peaks: 90 }"),
    "Pad": (IMAGE, "pad_param { paddings: [0, 0, 1, 2, 0, 3, 4, 0] constant_values: 2 }"),
    "Pooling beside the image": (IMAGE, "pooling_param { pool: MAX kernel_size: 2 stride: 5 pad: 1 }"),
    "Pooling that ends outside": (IMAGE, "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"),
    "Pooling without padding": (IMAGE, "pooling_param { pool: AVE_EXC_PAD kernel_size: 3 stride: 2 pad: 1 }"),
    "Pooling as in TensorFlow": (IMAGE, "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad_type: 1 }"),
    "Pooling of chance": (IMAGE, "pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 }"),
    "Proposal": (
        "2 6 4 5; 2 12 4 5; 1 3",
        "dialect: pvanet proposal_param { ratio: 1 scale: 1 scale: 2 scale: 3 base_size: 8 feat_stride: 4 min_size: 3 "
        "pre_nms_topn: 40 post_nms_topn: 9 nms_thresh: 0.5 }",
    ),
    "PSROIPooling": (
        "2 12 9 7; 5 5 1 1",
        "psroi_pooling_param { spatial_scale: 0.5 output_dim: 3 group_size: 2 }",
    ),
    "ReLU6": (IMAGE, "relu6_param { negative_slope: 0.1 }"),
    "Reorg": ("2 8 6 4", "reorg_param { stride: 2 }"),
    "Reorg back": ("2 8 6 4", "reorg_param { stride: 2 reverse: true }"),
    "Reshape": ("2 8 6 4", "reshape_param { pixelshuffler: 2 }"),
    "ResizeBilinear": (IMAGE, "resize_bilinear_param { output_height: 5 output_width: 11 data_format: 'NCHW' }"),
    "ResizeNearestNeighbor": (
        "2 4 5 3",
        "resize_nearest_neighbor_param { scale_height: 2 scale_width: 3 data_format: 'NHWC' }",
    ),
    "ROIPooling": ("2 3 9 7; 5 5", "roi_pooling_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.5 }"),
    "InfogainLoss": ("2 6 3 4; 2 1 3 4; 6 6", "loss_param { ignore_label: 1 }"),
    "InfogainLoss at the end": ("2 3 4; 2 3; 4 4", "top: 'probability' infogain_loss_param { axis: -1 }"),
    "SmoothL1Loss": ("6 8 1 1; 6 8; 6 8", "dialect: ssd top: 'each' smooth_l1_loss_param { sigma: 2 }"),
    "SmoothL1Loss of R-FCN": ("6 8 2 3; 6 8 2 3; 6 8 2 3", "dialect: rfcn top: 'each'"),
    "SmoothL1Loss of Intel": ("6 8; 6 8", "dialect: intel loss_param { normalization: NONE }"),
    "SmoothL1Loss of sizes": ("6 8; 6 8", "dialect: synopsys smooth_l1_loss_param { abssum: true }"),
    "SmoothL1LossOHEM": ("6 8; 6 8; 6 8", "top: 'each'"),
    "SmoothL1LossOHEM of maps": ("2 8 3 4; 2 8 3 4", "top: 'each' loss_param { normalization: FULL }"),
    "SoftmaxWithLoss": ("2 4 3 5; 2 1 3 5", "top: 'probability' top: 'each' loss_param { ignore_label: 1 }"),
    "SoftmaxWithLossOHEM": ("6 4 1 1; 6", "top: 'probability' top: 'each'"),
    "SeLu": (IMAGE, "selu_param { alpha: 1.5 lambda: 1.1 }"),
    "SeLU": (IMAGE, "selu_param { alpha: 1.5 }"),
    "SeLUDropout": (IMAGE, ""),
    "SeLuDropout": (IMAGE, "selu_dropout_param { dropout_ratio: 0.2 }"),
    "ShuffleChannel of vectors": ("2 6", "shuffle_channel_param { group: 3 }"),
    "ShuffleChannel": (IMAGE, "shuffle_channel_param { group: 3 }"),
    "SpaceToBatchND": ("2 5 6 4", "space_to_batch_nd_param { block_shape: 2 block_shape: 3 paddings: [1, 0, 1, 2] }"),
    "SpatialDropout": (IMAGE, ""),
    "Split": (IMAGE, ""),
    "Squeeze": ("2 1 9 1", "squeeze_param { axis: 1 axis: -1 }"),
    "Switch": ("2 3; 2 3", ""),
    "Unpooling": (IMAGE, "unpooling_param { kernel_size: 2 stride: 2 unpool_size: 12 }"),
    "Unpooling of windows": (
        IMAGE,
        "unpooling_param { unpool: AVE kernel_size: 3 stride: 2 unpool_h: 18 unpool_w: 20 }",
    ),
    "Unpooling of repeated windows": (
        IMAGE,
        "unpooling_param { unpool: TILE kernel_size: 2 stride: 1 unpool_size: 12 }",
    ),
    "Upsample": (IMAGE, "upsample_param { scale: 3 }"),
    "UpsampleDarknet": (IMAGE, "upsample_darknet_param { stride: 2 }"),
    "YoloDetectionOutput": (
        "2 14 3 3",
        "yolo_detection_output_param { num_classes: 2 num_box: 2 confidence_threshold: 0.3 nms_threshold: 0.4 "
        "biases: [1, 2, 2, 1] }",
    ),
    "Yolov3DetectionOutput": (
        "2 14 3 4; 2 14 6 8",
        "yolov3_detection_output_param { num_classes: 2 num_box: 2 confidence_threshold: 0.3 nms_threshold: 0.4 "
        "mask_group_num: 2 anchors_scale: [16, 8] mask: [2, 3, 0, 1] biases: [9, 12, 10, 20, 30, 25, 40, 44] }",
    ),
    "Yolov3DetectionOutput unsure": (
        "2 22 3 4",
        "yolov3_detection_output_param { num_classes: 2 num_box: 2 confidence_threshold: 0.2 nms_threshold: 0.4 "
        "mask_group_num: 1 anchors_scale: 16 mask: [0, 1] biases: [9, 12, 10, 20] gaussian_box: true }",
    ),
    "Yolov3DetectionOutput of nothing": (
        "2 14 3 4",
        "yolov3_detection_output_param { num_classes: 2 num_box: 2 confidence_threshold: 0.9999 nms_threshold: 0.4 "
        "mask_group_num: 1 anchors_scale: 16 mask: [0, 1] biases: [9, 12, 10, 20] }",
    ),
    "Python": (
        "1 18 4 5; 1 36 4 5; 1 3",
        'python_param { module: "rpn.proposal_layer" layer: "ProposalLayer" '
        "param_str: \"{'feat_stride': 4, 'scales': (1, 2, 3), 'rpn_min_size': 3}\" }",
    ),
}


def net_of_case(case: str) -> Net:
    shapes, settings = CASES[case]
    words = settings.split()
    dialect, settings = (words[1], " ".join(words[2:])) if words[:1] == ["dialect:"] else (None, settings)
    names = [f"in{number}" for number, shape in enumerate(filter(None, shapes.split(";")))]
    inputs = [
        f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ dim: [{dims}] }} }} }}'
        for name, shape in zip(names, shapes.split(";"), strict=False)
        for dims in [", ".join(shape.split())]
    ]
    bottoms = " ".join(f'bottom: "{name}"' for name in names)
    layer = f'layer {{ name: "l" type: "{case.split()[0]}" {bottoms} top: "out" {settings} }}'
    return net_of("\n".join([*inputs, layer]), dialect=dialect)


@pytest.mark.parametrize("case", CASES)
def test_a_model_computes_the_same_as_torch(case: str) -> None:
    net = net_of_case(case)
    report = verify(to_onnx(net), net)
    assert report.passed, report


@pytest.mark.parametrize("opset", OLDER_OPSETS)
@pytest.mark.parametrize("case", CASES)
def test_an_older_opset_computes_the_same(case: str, opset: int) -> None:
    net = net_of_case(case)
    model = to_onnx(net, opset=opset)
    checker.check_model(model, full_check=True)
    report = verify(model, net)
    assert report.passed, report
    read = {name for each in model.graph.node for name in each.input}
    assert not [each.name for each in model.graph.initializer if "/constant" in each.name and each.name not in read]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Upsample", "upsample_param { scale: 2 }"),
        ("Unpooling", "unpooling_param { kernel_size: 2 unpool_h: 8 unpool_w: 6 }"),
    ],
)
def test_unpooling_puts_values_where_pooling_found_them(kind: str, settings: str) -> None:
    net = Net(
        from_text(
            f"""layer {{ name: "x" type: "Input" top: "x" input_param {{ shape {{ dim: [2, 3, 8, 6] }} }} }}
            layer {{ name: "p" type: "Pooling" bottom: "x" top: "p" top: "mask"
                    pooling_param {{ kernel_size: 2 stride: 2 }} }}
            layer {{ name: "u" type: "{kind}" bottom: "p" bottom: "mask" top: "u" {settings} }}""",
            pb.NetParameter,
        )
    )
    assert verify(to_onnx(net), net).passed


def test_every_exportable_type_is_tested() -> None:
    recorded = (Path(__file__).parents[2] / "data/layers/cases.prototxts").read_text()
    tested = {case.split()[0] for case in CASES} | {*re.findall(r'type: ?"(\w+)"', recorded), "RpnProposal"}
    with_form = {name for name, kind in LAYERS.items() if issubclass(kind, HasOnnxForm)}
    assert with_form <= tested


pytest.importorskip("onnxruntime")

DATA = Path(__file__).parents[2] / "data/layers"
ARRAYS = np.load(DATA / "recorded.npz")
RECORDED = dict(part.split("\n", 1) for part in (DATA / "cases.prototxts").read_text().split("## ")[1:])
RECORDED_TESTS = {case: text for case, text in RECORDED.items() if "phase: TRAIN" not in text.split("\n")[0]}
WITHOUT_FORM = {"ssd_multibox_softmax"}

# Sums in another order, relative to the largest value: the amount by which two correct float32 programs differ.
TOLERANCE = 2e-5


def recorded(case: str) -> dict[str, dict[str, NDArray[np.float32]]]:
    """Return the recorded arrays by kind and name."""
    found: dict[str, dict[str, NDArray[np.float32]]] = {}
    for key in ARRAYS.files:
        if key.startswith(f"{case}:"):
            kind, _, name = key.partition(":")[2].partition("/")
            found.setdefault(kind, {})[name] = ARRAYS[key]
    return found


def recorded_net(case: str, folder: Path) -> Net:
    path = folder / f"{case}.prototxt"
    path.write_text(RECORDED_TESTS[case])
    weights: dict[str, list[NDArray[np.float32]]] = {}
    for name, array in sorted(recorded(case).get("param", {}).items()):
        weights.setdefault(name.rpartition("/")[0], []).append(array)
    return Net(path, weights=weights or None)


@pytest.mark.parametrize("opset", [None, 11])
@pytest.mark.parametrize("case", sorted(RECORDED_TESTS.keys() - WITHOUT_FORM))
def test_a_model_computes_the_same_as_caffe(case: str, opset: int | None, tmp_path: Path) -> None:
    net, wanted = recorded_net(case, tmp_path), recorded(case)
    model = to_onnx(net, opset=opset)
    run = inference_session(model.SerializeToString())
    names = [each.name for each in run.get_outputs()]
    given = {each.name: wanted["in"][each.name] for each in run.get_inputs()}
    found = dict(zip(names, run.run(names, given), strict=True))
    assert found.keys() & wanted["out"].keys()
    for name in found.keys() & wanted["out"].keys():
        assert found[name].shape == wanted["out"][name].shape
        largest = max(1e-2, np.abs(wanted["out"][name]).max(initial=0))
        assert np.abs(found[name] - wanted["out"][name]).max(initial=0) <= TOLERANCE * largest, name
    report = verify(model, net)
    assert report.passed, report


@pytest.mark.parametrize("case", sorted(WITHOUT_FORM))
def test_a_layer_that_cannot_be_exported_is_named(case: str, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=r"layer 'l' of type .* (has no ONNX form|can('t)? be exported)"):
        to_onnx(recorded_net(case, tmp_path))
