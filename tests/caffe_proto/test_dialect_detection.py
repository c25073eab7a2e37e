"""Detecting the dialect of a binary file that doesn't name it."""

import struct
import time

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of
from caffe_proto.dialect_detection import detect_dialect
from caffe_proto.dialects import all_dialects, dialect_named
from caffe_proto.errors import BinaryError
from caffe_proto.text.prototxt import from_text

NET = descriptor_of(pb.NetParameter)


def length(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def varint(number: int, value: int) -> bytes:
    return _number(number << 3) + _number(value)


def single(number: int, value: float) -> bytes:
    return _number(number << 3 | 5) + struct.pack("<f", value)


def _number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _number(value >> 7)


def layer(kind: str, *fields: bytes) -> bytes:
    return length(100, length(1, b"l") + length(2, kind.encode()) + b"".join(fields))


CONVOLUTION = layer(
    "Convolution", varint(10, 1), length(106, varint(1, 64) + varint(4, 3) + length(7, length(1, b"msra")))
)
BATCH_NORM = layer("BatchNorm", length(139, varint(1, 1) + single(3, 1e-3)))


def pooling(*fields: bytes) -> bytes:
    return layer("Pooling", length(121, varint(1, 0) + varint(2, 3) + varint(3, 2) + b"".join(fields)))


# These bytes are assembled by hand from each fork's own numbers. Each fork has the layers that are most common in its
# nets.
BY_HAND = {
    "PriorBox": ("ssd", layer("PriorBox", length(203, single(1, 30) + single(2, 60) + single(3, 2) + varint(4, 1)))),
    "Normalize": (
        "ssd",
        layer("Normalize", length(206, varint(1, 0) + length(2, length(1, b"constant")) + varint(3, 0))),
    ),
    "Permute": ("ssd", layer("Permute", length(202, b"".join(varint(1, n) for n in (0, 2, 3, 1))))),
    "DetectionOutput": (
        "ssd",
        layer(
            "DetectionOutput", length(204, varint(1, 21) + varint(3, 0) + length(4, single(1, 0.45) + varint(2, 400)))
        ),
    ),
    "Interp": ("pspnet", layer("Interp", length(143, varint(1, 60) + varint(2, 60)))),
    "BN of PSPNet": (
        "pspnet",
        layer("BN", length(152, length(1, length(1, b"constant")) + single(3, 0.95) + varint(5, 1))),
    ),
    "Upsample of SegNet": ("segnet", layer("Upsample", length(137, varint(1, 2) + varint(6, 23) + varint(7, 30)))),
    "BN of SegNet": ("segnet", layer("BN", length(45, varint(3, 1) + length(1, length(1, b"constant"))))),
    "YoloDetectionOutput": (
        "mobilenet-yolo",
        layer("YoloDetectionOutput", length(601, varint(2, 20) + varint(4, 4) + single(5, 0.2) + single(7, 1.08))),
    ),
    "Upsample of YOLO": ("mobilenet-yolo", layer("Upsample", length(150, varint(1, 2)))),
    "ROIPooling": (
        "faster-rcnn",
        layer("ROIPooling", length(8266711, varint(1, 7) + varint(2, 6) + single(3, 0.0625))),
    ),
    "PSROIPooling": ("rfcn", layer("PSROIPooling", length(10001, single(1, 0.0625) + varint(2, 21) + varint(3, 7)))),
    "ceil_mode: false": ("ceil-mode", pooling(varint(13, 0))),
    "ImResize": ("openpose", layer("ImResize", length(148, single(3, 8) + single(5, 0.15)))),
    "MarginInnerProduct": ("sphereface", layer("MarginInnerProduct", length(147, varint(1, 10572) + varint(2, 3)))),
    "CenterLoss": ("caffe-face", layer("CenterLoss", length(147, varint(1, 10572) + length(2, length(1, b"xavier"))))),
    "Correlation": ("flownet2", layer("Correlation", length(150, varint(2, 20) + varint(3, 1) + varint(4, 20)))),
    "raw values": ("nvcaffe-0.17", layer("InnerProduct", length(7, length(7, length(1, b"\x02")) + varint(10, 2)))),
    "BN of DeconvNet": (
        "deconvnet",
        length(2, length(4, b"u") + varint(5, 42) + length(44, varint(1, 1) + varint(2, 2) + varint(12, 14)))
        + length(2, length(4, b"b") + varint(5, 43) + length(45, length(1, length(1, b"constant")) + varint(3, 1))),
    ),
    "MULTI_STAGE_MEANFIELD": (
        "crf-rnn-v1",
        length(2, length(4, b"m") + varint(5, 42) + length(44, varint(1, 0) + single(2, 1) + single(3, 160))),
    ),
    "MultiStageMeanfield": ("crf-rnn-v2", layer("MultiStageMeanfield", length(146, single(3, 160) + varint(6, 10)))),
    "CPMData": (
        "caffe-train",
        layer("CPMData", length(107, length(1, b"db") + varint(4, 10)), length(147, varint(6, 8) + single(13, 40))),
    ),
    "a single person's": (
        "cpm",
        layer("CPMData", length(100, varint(6, 8) + single(13, 40)), length(147, length(1, b"db") + varint(8, 1))),
    ),
    "DataHeatmap": ("caffe-heatmap", layer("DataHeatmap", varint(200, 0), length(140, varint(1003, 14)))),
    "a type of data": ("opencl", layer("InnerProduct", length(7, length(7, length(1, b"\x02")) + varint(13, 0)))),
}


@pytest.mark.parametrize(("dialect", "doubtful"), BY_HAND.values(), ids=BY_HAND)
def test_a_nets_fork_is_detected_by_its_layers(dialect: str, doubtful: bytes) -> None:
    assert detect_dialect(CONVOLUTION + BATCH_NORM + pooling() + doubtful + CONVOLUTION, NET).name == dialect


@pytest.mark.parametrize(
    "data",
    [
        b"",
        CONVOLUTION,
        BATCH_NORM + pooling(),
        layer("Input", length(143, length(1, length(1, b"\x01\x03")))),
        layer("RNN", length(146, varint(1, 256))),
        layer("Crop", length(144, varint(1, 2))),
        layer("Scale", length(142, varint(1, 1))),
        layer("ELU", length(140, single(1, 1))),
        layer("Parameter", length(145, length(1, length(1, b"\x05")))),
        pooling(varint(13, 1)),  # round_mode: FLOOR
        layer("Mystery", length(3131, b"nobody knows")),
    ],
)
def test_a_net_without_fork_fields_is_bvlcs(data: bytes) -> None:
    assert detect_dialect(data, NET).name == "bvlc"


@pytest.mark.parametrize("modes", [[0], [0, 0, 0], [0, 1], [1, 1, 0]])
def test_ceil_mode_false_does_not_become_round_mode(modes: list[int]) -> None:
    data = CONVOLUTION + b"".join(pooling(varint(13, mode)) for mode in modes)
    message = pb.NetParameter.FromString(detect_dialect(data, NET).decode(data, NET))
    for each, mode in zip(message.layer[1:], modes, strict=True):
        assert each.pooling_param.HasField("ceil_mode")
        assert each.pooling_param.ceil_mode == bool(mode)
        assert not each.pooling_param.HasField("round_mode")


def test_an_impossible_enum_or_bool_value_means_another_fork() -> None:
    data = pooling(varint(13, 2))  # neither round_mode nor ceil_mode
    message = pb.NetParameter.FromString(detect_dialect(data, NET).decode(data, NET))
    assert message.layer[0].pooling_param.ListFields()[-1][1] in (2, [2])


@pytest.mark.parametrize("size", [(11, 10), (32, 32), (300, 300), (40, 1000)])
def test_an_image_size_is_not_mistaken_for_a_list_of_scales(size: tuple[int, int]) -> None:
    text = "layer {{ name: 'data' type: 'Data' transform_param {{ resize_param {{ {} height: {} width: {} }} }} }}"
    for mode in ("", "resize_mode: WARP", "prob: 1 resize_mode: WARP"):
        message = from_text(text.format(mode, *size), pb.NetParameter)
        data = all_dialects()["ssd"].encode(message.SerializeToString(), message.DESCRIPTOR)
        assert detect_dialect(data, message.DESCRIPTOR).decode(data, message.DESCRIPTOR) == message.SerializeToString()


def test_a_fork_is_detected_after_any_number_of_blobs() -> None:
    blobs = [layer("Convolution", length(7, varint(536870911, index))) for index in range(10_000)]
    assert detect_dialect(b"".join(blobs) + BY_HAND["PriorBox"][1], NET).name == "ssd"


def test_an_ssd_with_half_weights_is_read_with_both_kinds_of_fields() -> None:
    """OpenCV's face detector is such a file: its writer has SSD's layers and NVIDIA's blobs."""
    half = length(7, length(7, length(1, b"\x02")) + varint(10, 2))
    data = BY_HAND["PriorBox"][1] + BY_HAND["Permute"][1] + layer("Convolution", half)
    message = pb.NetParameter.FromString(detect_dialect(data, NET).decode(data, NET))
    assert message.layer[0].prior_box_param.flip
    assert list(message.layer[1].permute_param.order) == [0, 2, 3, 1]
    assert message.layer[2].blobs[0].raw_data_type == pb.FLOAT16


# Nets of this form are in use. After they are written in the fork's dialect, they must be read as the same nets.
IN_USE = {
    "ssd": """
        layer { name: "n" type: "Normalize" norm_param { across_spatial: false channel_shared: false
            scale_filler { type: "constant" value: 20 } } }
        layer { name: "p" type: "Permute" permute_param { order: 0 order: 2 order: 3 order: 1 } }
        layer { name: "b" type: "PriorBox" prior_box_param { min_size: 30 max_size: 60 aspect_ratio: 2 flip: true
            clip: false variance: 0.1 step: 8 offset: 0.5 } }
        layer { name: "d" type: "DetectionOutput" detection_output_param { num_classes: 21 code_type: CENTER_SIZE
            nms_param { nms_threshold: 0.45 top_k: 400 } keep_top_k: 200 confidence_threshold: 0.01 } }""",
    "pspnet": """
        layer { name: "b" type: "BN" bn_param { momentum: 0.95 frozen: true slope_filler { value: 1 } } }
        layer { name: "i" type: "Interp" interp_param { height: 60 width: 60 } }""",
    "segnet": """
        layer { name: "b" type: "BN" bn_param { bn_mode: INFERENCE scale_filler { type: "constant" value: 1 } } }
        layer { name: "u" type: "Upsample" upsample_param { scale: 2 upsample_w: 60 upsample_h: 45 } }
        layer { name: "s" type: "SoftmaxWithLoss" loss_param { weight_by_label_freqs: true class_weighting: 0.25 } }""",
    "mobilenet-yolo": """
        layer { name: "u" type: "Upsample" upsample_param { scale: 2 } }
        layer { name: "y" type: "Yolov3DetectionOutput" yolov3_detection_output_param { num_classes: 20
            confidence_threshold: 0.3 biases: 20 biases: 37 mask: 3 mask: 4 anchors_scale: 32 mask_group_num: 2 } }""",
    "faster-rcnn": """
        layer { name: "r" type: "ROIPooling" roi_pooling_param { pooled_w: 7 pooled_h: 6 spatial_scale: 0.0625 } }
        layer { name: "s" type: "SmoothL1Loss" smooth_l1_loss_param { sigma: 3 } }""",
    "rfcn": """
        layer { name: "r" type: "PSROIPooling" psroi_pooling_param { output_dim: 21 group_size: 7 } }
        layer { name: "s" type: "SoftmaxWithLoss" loss_param { normalization: PRE_FIXED } }""",
    "intel": """
        layer { name: "c" type: "Convolution" engine: "MKLDNN" convolution_param { num_output: 3 } }
        layer { name: "p" type: "Pooling" pooling_param { kernel_size: 3 avg_include_pad: false } }
        bn_stats_batch_size: 32""",
    "tsn": """layer { name: "b" type: "BN" bn_param { frozen: true slope_filler { value: 1 } } }
        layer { name: "s" type: "Scale" scale_param { bias_term: true } }""",
    "flownet2": """layer { name: "c" type: "Correlation" correlation_param { pad: 20 kernel_size: 1 max_displacement: 20
            stride_1: 1 stride_2: 2 } }
        layer { name: "r" type: "Resample" resample_param { width: 64 height: 32 type: LINEAR } }""",
    "deconvnet": """layers { name: "u" type: UNPOOLING unpooling_param { unpool: TILE
            kernel_size: 2 stride: 2 unpool_size: 14 } }
        layers { name: "b" type: BN bn_param { bn_mode: INFERENCE } }""",
    "crf-rnn-v2": """layer { name: "m" type: "MultiStageMeanfield" multi_stage_meanfield_param { num_iterations: 10
            compatibility_mode: POTTS threshold: 2 theta_alpha: 160 theta_beta: 3 theta_gamma: 3 } }""",
}


@pytest.mark.parametrize("dialect", IN_USE)
def test_a_fork_net_from_practice_is_read_in_its_forks_dialect(dialect: str) -> None:
    plain = 'layer { name: "c" type: "Convolution" convolution_param { num_output: 64 kernel_size: 3 pad: 1 } }'
    message = from_text(plain + IN_USE[dialect], pb.NetParameter)
    data = dialect_named(dialect).encode(message.SerializeToString(), NET)
    assert detect_dialect(data, NET).name == dialect
    assert pb.NetParameter.FromString(detect_dialect(data, NET).decode(data, NET)) == message


def test_the_fork_of_a_solver_state_is_detected_too() -> None:
    state, data = descriptor_of(pb.SolverState), varint(1, 10) + single(5, 0.25) + varint(6, 7)
    assert pb.SolverState.FromString(detect_dialect(data, state).decode(data, state)).minimum_loss == 0.25


@pytest.mark.parametrize(
    "data",
    [
        b"".join(varint(4000 + n, n) for n in range(100_000)),
        b"".join(layer("Interp", length(143, varint(1, n))) for n in range(4_000)),
        layer("Interp", length(143, varint(1, 5) * 200_000)),
        layer("Interp", b"".join(length(143, varint(1, n)) for n in range(100_000))),
    ],
    ids=["unknown fields", "layers", "one field", "fields"],
)
def test_detection_is_fast_for_every_file(data: bytes) -> None:
    start = time.process_time()
    detect_dialect(data, NET)
    assert time.process_time() - start < 8  # 3 s here, minutes if every dialect reads the whole file


def test_damage_raises_our_error() -> None:
    with pytest.raises(BinaryError):
        detect_dialect(layer("Pooling", length(121, b"\x0a\x7f")), NET)
    # a file that no fork can read gets a dialect, but isn't parsed
    assert detect_dialect(layer("Interp", length(143, b"\x0a\x7f")), NET)
