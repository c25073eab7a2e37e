"""No setting of a layer type is ignored silently: the type's code reads or refuses it, or a reason is listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import fields_by_name
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer
from netdsl.layers import LAYERS

FORKS = 500_000_000  # the fields of forks have numbers from here on
_FASTER = "it says how something is computed, not what"
_UNUSED = "the fork's own code doesn't use it"

WITHOUT_EFFECT = {
    "engine": _FASTER,
    "force_nd_im2col": _FASTER,
    "conv_algorithm": _FASTER,
    "cudnn_convolution_algo_seeker": _FASTER,
    "conv_algos_override": _FASTER,
    "mem_group_size": _FASTER,
    "stable_prod_grad": _FASTER,
    "unit_test_mode": _FASTER,
    "unit_test_fuse_kernel": _FASTER,
    "share_in_parallel": _FASTER,
    "debug_info": "it asks for a log",
}
WITHOUT_EFFECT_THERE = {
    "BatchNorm": {"icnet": _FASTER},
    "ChannelScale": dict.fromkeys(
        ("max_global_scale", "min_global_scale", "init_global_scale"), "only with global_scale, which is refused"
    ),
    "CPMData": {
        **dict.fromkeys(
            (
                "scale_cvg",
                "max_cvg_len",
                "min_cvg_len",
                "opaque_coverage",
                "coverage",
                "bbox_norm_factor",
                "img_header",
            ),
            _UNUSED,
        ),
        **dict.fromkeys(("force_color", "force_gray"), "images with people aren't encoded"),
        "num_total_augs": "only with aug_way 'table', which is refused",
        "visualize": "it is for pictures",
    },
    "DataHeatmap": {"num_channels": _UNUSED, "crop_meanfile": _UNUSED},
    "DetectNetTransformation": {"coverage_type": "it has one value"},
    "DetectionOutput": dict.fromkeys(
        ("visualize", "visualize_threshold", "save_file", "save_output_param"),
        "it is for pictures and files",
    ),
    "Dropout": {"random_seed": "one seed is for the whole net"},
    "EvalDetection": dict.fromkeys(("constriant", "sqrt"), _UNUSED),
    "Im2col": dict.fromkeys(("num_output", "bias_term", "weight_filler", "bias_filler"), "it has no filters"),
    "InnerProduct": {"negative_slope": "only with relu, which is refused"},
    "LaneData": {"label_map_file": "lanes have numbers alone"},
    "LRN": {"pooling_param": "only with fuse_type, which is refused"},
    "MultiStageMeanfield": {
        "compatibility_mode": "it has one value",
        "force_cpu": _FASTER,
        **dict.fromkeys(("threshold", "forced_spatial_filter_weight", "forced_bilateral_filter_weight"), _UNUSED),
    },
    "ReLU": {"fuse": _FASTER},
    "RegionLoss": dict.fromkeys(("jitter", "absolute", "random", "side"), _UNUSED),
    "SegAccuracy": {"metric": _UNUSED},
    "Softmax": dict.fromkeys(
        ("hard_ratio", "class_weight", "hard_mining_label", "cutting_point", "label_smooth_factor"),
        "it is for the loss",
    ),
    "VideoData": {"rand_skip": _UNUSED, "encoded": _UNUSED},
    "YoloDetectionOutput": {"coords": _UNUSED, "side": _UNUSED, "label_map_file": "it is for files of results"},
    "YoloSeg": dict.fromkeys(("num_class", "class_scale", "use_logic_gradient", "use_hardsigmoid"), _UNUSED),
    "Yolov3": dict.fromkeys(("side", "noobject_scale"), _UNUSED),
}
_FUSED = "only with relu, which is refused"
for _kind in ("Data", "ImageData", "ImageSegData", "DenseImageData", "WindowData"):
    WITHOUT_EFFECT_THERE[_kind] = dict.fromkeys(("scale", "mean_file", "mirror"), "upgrades move it to transform_param")
WITHOUT_EFFECT_THERE["Data"] |= {"prefetch": _FASTER}
for _kind in ("Convolution", "ConvolutionDepthwise", "DepthwiseConvolution", "Deconvolution", "Im2col"):
    WITHOUT_EFFECT_THERE.setdefault(_kind, {})["negative_slope"] = _FUSED
WITHOUT_EFFECT_THERE["ReLU6"] = {"fuse": _FASTER}

TYPES = {name: kind for name, kind in LAYERS.items() if kind.config is not None}


def settings_of(kind: type[Layer]) -> Iterator[str]:
    """Return the settings that a type's code must handle."""
    assert kind.config is not None
    descriptor: Descriptor = kind.config.DESCRIPTOR  # type: ignore[assignment]  # protobuf's stubs know two classes
    for name, field in fields_by_name(descriptor).items():
        if not (issubclass(kind, BringsData) and field.number > FORKS):  # `check_forks` refuses all of these
            yield name


def used_names(kind: type[Layer]) -> set[str]:
    """Return the attributes and strings in the code of a type and of the code that it uses."""
    return names_in(kind.__module__) | {name for base in kind.__mro__ for name in names_in(base.__module__)}


@cache
def names_in(module: str) -> frozenset[str]:
    if not module.startswith(("netdsl.layers.", "netdsl.data", "netdsl.layer.")):
        return frozenset()
    tree = ast.parse(Path(str(import_module(module).__file__)).read_text())
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    imported = {node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    for node in imported:
        parts = [f"{node.module}.{alias.name}" for alias in node.names]
        for part in (node.module, *filter(_is_module, parts)):
            if part != module and (part.startswith("netdsl.data.") or part.rpartition(".")[2].startswith("_")):
                names |= names_in(part)
    return frozenset(names | texts)


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def is_known(name: str, used: set[str]) -> bool:
    """Return whether a setting is named, or composed of two parts, as `kernel_h` and `step_w` are."""
    stem, _, side = name.rpartition("_")
    return name in used or (side in ("h", "w") and (stem in used or f"{stem}_size" in used))


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_setting_is_read_or_refused(name: str) -> None:
    kind = TYPES[name]
    reasons, used = WITHOUT_EFFECT | WITHOUT_EFFECT_THERE.get(name, {}), used_names(kind)
    unread = [field for field in settings_of(kind) if not is_known(field, used) and field not in reasons]
    assert not unread


def test_every_field_for_the_settings_of_a_type_is_read() -> None:
    """`norm_param` and `normalize_param`, for instance, use one message."""
    used = {name for kind in TYPES.values() for name in used_names(kind)}
    configs = {kind.config.DESCRIPTOR.full_name for kind in TYPES.values() if kind.config is not None}
    fields = [
        name
        for name, field in fields_by_name(pb.LayerParameter.DESCRIPTOR).items()  # type: ignore[arg-type]
        if field.message_type is not None and field.message_type.full_name in configs
    ]
    assert len(fields) > 80
    # their only field is engine
    assert {name for name in fields if name not in used} <= {"sigmoid_param", "tanh_param"}


@pytest.mark.parametrize(
    ("kind", "settings", "shape", "name"),
    [
        (
            "Convolution",
            "convolution_param { num_output: 1 kernel_size: 1 relu_param { } }",
            (1, 2, 3, 3),
            "relu_param",
        ),
        ("InnerProduct", "inner_product_param { num_output: 1 normalize: true }", (1, 2), "normalize"),
        ("InnerProduct", "inner_product_param { num_output: 1 relu: true }", (1, 2), "relu"),
        ("LRN", "lrn_param { fuse_type: FUSED_POOL_MAX }", (1, 2, 3, 3), "fuse_type"),
        ("Nms", "nms_param { num_peak: 3 }", (1, 2, 3, 3), "num_peak"),
        ("ReLU6", "relu6_param { maximum: 5 }", (1, 2), "maximum"),
    ],
)
def test_settings_that_would_change_results_are_refused(
    made, kind: str, settings: str, shape: tuple[int, ...], name: str
):
    with pytest.raises(NetError, match=f"'{name}' is a setting of a fork"):
        made(kind, settings, shape)
