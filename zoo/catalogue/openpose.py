"""OpenPose's body net: six stages find keypoints, and the direction of each limb.

Every stage after the first reads the output of the previous one together with the image's features. One branch draws
limbs as vector fields, and the other draws keypoints as spots. Each stage has its own losses.
"""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, Max, PoolLayer, RDDLayer
from netdsl.dsl import Concat, CPMData, Eltwise, EuclideanLoss, Silence, Slice
from zoo.catalogue._vgg_trunk import conv_relu, rates
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_LIMBS, _KEYPOINTS = 38, 19  # numbers of maps: two for each of 19 limbs; 18 keypoints and the background
_BRANCHES = {"L1": _LIMBS, "L2": _KEYPOINTS}
_STAGES = 6
_FEATURES = "conv4_4_CPM"
_READING: dict[str, Any] = {
    "data_param": {"source": "train_lmdb", "batch_size": 10, "backend": "LMDB"},
    "cpm_transform_param": {
        "stride": 8,
        "max_rotate_degree": 40,
        "crop_size_x": 368,
        "crop_size_y": 368,
        "scale_prob": 1,
        "scale_min": 0.5,
        "scale_max": 1.1,
        "target_dist": 0.6,
        "center_perterb_max": 40,
        "num_parts": 56,
        "np_in_lmdb": 17,
    },
}


def _settings(rate: float) -> dict[str, Any]:
    fillers = {"weight_filler": {"type": "gaussian", "std": 0.01}, "bias_filler": {"type": "constant"}}
    return {**rates(rate), **fillers}


_TRUNK, _REFINED = _settings(1), _settings(4)  # later stages learn faster


def _inputs() -> list[pb.LayerParameter]:
    """Return the inputs. In training, they are an image with three channels of zeros, the target maps, and their
    weights.

    A map has weight 0 where a person isn't annotated.
    """
    maps = ["vec_weight", "heat_weight", "vec_temp", "heat_temp"]
    ends = [_LIMBS, _LIMBS + _KEYPOINTS, 2 * _LIMBS + _KEYPOINTS]
    return [
        RDDLayer("image", shape=[1, 3, 368, 368], include=TEST_ONLY),
        CPMData("data", tops=["data", "label"], include=TRAIN_ONLY, **_READING),
        Slice("vec_weight", ["label"], tops=maps, axis=1, slice_point=ends, include=TRAIN_ONLY),
        *[
            Eltwise(f"label_{kind}", [f"{kind}_weight", f"{kind}_temp"], operation="PROD", include=TRAIN_ONLY)
            for kind in ("vec", "heat")
        ],
        Slice("image", ["data"], tops=["image", "center_map"], axis=1, slice_point=3, include=TRAIN_ONLY),
        Silence("silence2", ["center_map"], include=TRAIN_ONLY),
    ]


def _features() -> list[pb.LayerParameter]:
    """Return the first ten convolutions of VGG-19, and two convolutions that reduce their channels."""
    layers, bottom = [], "image"
    for stage, (convolutions, width) in enumerate(((2, 64), (2, 128), (4, 256), (2, 512)), 1):
        for number in range(1, convolutions + 1):
            name = f"conv{stage}_{number}"
            layers += conv_relu(name, bottom, width, **_TRUNK)
            bottom = name
        if stage < 4:
            layers.append(PoolLayer(f"pool{stage}_stage1", [bottom], pool=Max, kernel=2, stride=2))
            bottom = f"pool{stage}_stage1"
    return [
        *layers,
        *conv_relu("conv4_3_CPM", bottom, 256, **_TRUNK),
        *conv_relu(_FEATURES, "conv4_3_CPM", 128, **_TRUNK),
    ]


def _branches(
    bottom: str, names: list[str], kernels: list[int], hidden: int, **settings: Any
) -> list[pb.LayerParameter]:
    """Return both branches of a stage, layer by layer. The second-to-last layer has `hidden` channels, and earlier ones
    have 128."""
    layers, bottoms = [], dict.fromkeys(_BRANCHES, bottom)
    *inner, last = names
    widths = [128] * (len(inner) - 1) + [hidden]
    for name, kernel, width in zip(inner, kernels, widths, strict=True):
        for branch in _BRANCHES:
            layers += conv_relu(f"{name}_{branch}", bottoms[branch], width, kernel=kernel, pad=kernel // 2, **settings)
            bottoms[branch] = f"{name}_{branch}"
    for branch, maps in _BRANCHES.items():
        layers.append(ConvLayer(f"{last}_{branch}", [bottoms[branch]], kernel=1, num_filters=maps, **settings))
    return layers


def _stage(number: int) -> list[pb.LayerParameter]:
    """Return a stage with its losses, and the input of the next stage."""
    names = [f"Mconv{layer}_stage{number}" for layer in range(1, 8)]
    if number == 1:
        names = [f"conv5_{layer}_CPM" for layer in range(1, 6)]
        layers = _branches(_FEATURES, names, [3, 3, 3, 1], 512, **_TRUNK)
    else:
        layers = _branches(f"concat_stage{number}", names, [7, 7, 7, 7, 7, 1], 128, **_REFINED)
    limbs, keypoints = f"{names[-1]}_L1", f"{names[-1]}_L2"
    layers += [*_loss(number, "L1", limbs, "vec"), *_loss(number, "L2", keypoints, "heat")]
    if number < _STAGES:
        return [*layers, Concat(f"concat_stage{number + 1}", [limbs, keypoints, _FEATURES], axis=1)]
    return [*layers, Concat("concat_stage7", [keypoints, limbs], tops=["net_output"], axis=1, include=TEST_ONLY)]


def _loss(stage: int, branch: str, maps: str, kind: str) -> list[pb.LayerParameter]:
    weighted = f"weight_stage{stage}_{branch}"
    return [
        Eltwise(weighted, [maps, f"{kind}_weight"], operation="PROD", include=TRAIN_ONLY),
        EuclideanLoss(f"loss_stage{stage}_{branch}", [weighted, f"label_{kind}"], loss_weight=1, include=TRAIN_ONLY),
    ]


def openpose_body() -> CatalogueEntry:
    """Return OpenPose for the 18 keypoints of COCO, with the data layer that draws its target maps."""
    stages = [_stage(number) for number in range(1, _STAGES + 1)]
    net = CatalogueNet("OpenPose", *_inputs(), *_features(), *[layer for stage in stages for layer in stage])
    solver = solver_settings(
        base_lr=0.00004,
        lr_policy="step",
        gamma=0.333,
        stepsize=136106,
        momentum=0.9,
        weight_decay=0.0005,
        max_iter=600000,
        display=5,
        snapshot=2000,
    )
    return CatalogueEntry(net, solver)
