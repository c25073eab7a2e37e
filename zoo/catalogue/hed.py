"""HED: five side outputs of VGG-16, each with its own loss, and their fusion find edges at all scales."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer
from netdsl.dsl import Concat, Crop, Deconvolution, ImageLabelmapData, Sigmoid, SigmoidCrossEntropyLoss
from zoo.catalogue._vgg_trunk import rates, vgg_trunk
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_SIDES = ("conv1_2", "conv2_2", "conv3_3", "conv4_3", "conv5_3")
_FIRST_PAD = 35
_SLOW, _FAST = rates(0.01), rates(100)  # names of the side outputs, with the last convolution of each stage


def _images(phase: pb.NetStateRule) -> pb.LayerParameter:
    return ImageLabelmapData(
        "data",
        tops=["data", "label"],
        include=phase,
        transform_param={"mirror": False, "mean_value": [104.00699, 116.66877, 122.67892]},
        source="../../data/HED-BSDS/train_pair.lst",
        root_folder="../../data/HED-BSDS/",
        batch_size=1,
        shuffle=True,
        new_height=0,
        new_width=0,
    )


def _loss_and_probabilities(blob: str, name: str) -> list[pb.LayerParameter]:
    """Return the loss of an edge map, and its probabilities in the deployed net."""
    return [
        SigmoidCrossEntropyLoss(None, [blob, "label"], tops=[f"{name}_loss"], loss_weight=1),
        Sigmoid(f"sigmoid-{name}", [blob], include=TEST_ONLY),
    ]


def _side_output(number: int, bottom: str) -> list[pb.LayerParameter]:
    """Return an edge map from a stage of the trunk, upsampled to the image's size.

    HED's version of Caffe computes the crop's offset, which is a setting of Crop here.
    """
    name, factor = f"dsn{number}", 2 ** (number - 1)
    window = {"kernel_size": 2 * factor, "stride": factor}
    small = f"score-{name}" if factor > 1 else f"score-{name}-up"
    scores = [ConvLayer(f"score-{name}", [bottom], tops=[small], kernel=1, num_filters=1, **_SLOW)]
    if factor > 1:
        upsampled = [f"score-{name}-up"]
        scores.append(Deconvolution(f"upsample_{factor}", [small], tops=upsampled, num_output=1, **window, **rates(0)))
    crop = Crop(
        "crop", [f"score-{name}-up", "data"], tops=[f"upscore-{name}"], axis=2, offset=_FIRST_PAD - 1 + factor // 2
    )
    return [*scores, crop, *_loss_and_probabilities(f"upscore-{name}", name)]


def hed() -> CatalogueEntry:
    """Return a holistically-nested edge detector for images of any size."""
    sides = [_side_output(number, bottom) for number, bottom in enumerate(_SIDES, 1)]
    fusion: dict[str, Any] = {"kernel": 1, "num_filters": 1, "weight_filler": {"type": "constant", "value": 0.2}}
    net = CatalogueNet(
        "HED",
        _images(TRAIN_ONLY),
        _images(TEST_ONLY),
        *vgg_trunk([*[rates(1)] * 4, _FAST], first_pad=_FIRST_PAD),
        *[layer for side in sides for layer in side],
        Concat("concat", [f"upscore-dsn{number}" for number in range(1, 6)], tops=["concat-upscore"], concat_dim=1),
        ConvLayer("new-score-weighting", ["concat-upscore"], tops=["upscore-fuse"], **fusion, **rates(0.001)),
        *_loss_and_probabilities("upscore-fuse", "fuse"),
    )
    solver = solver_settings(
        base_lr=1e-6,
        lr_policy="step",
        gamma=0.1,
        stepsize=10000,
        momentum=0.9,
        weight_decay=0.0002,
        iter_size=10,
        max_iter=30001,
        display=20,
        test_iter=0,
        test_interval=1000000,
        snapshot=1000,
    )
    return CatalogueEntry(net, solver, inputs={"data": (3, 500, 500), "label": (1, 500, 500)})
