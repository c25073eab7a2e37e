"""Faster R-CNN: on top of one VGG-16, one net proposes regions, and another classifies each region and corrects its
edges."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, LinearLayer, RDDLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import Dropout, Python, Reshape, ROIPooling, SmoothL1Loss, Softmax
from zoo.catalogue._vgg_trunk import vgg_trunk
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_CLASSES = 21  # classes of PASCAL VOC, including the background
_ANCHORS = 9  # number of boxes around each place, in three sizes and three shapes
_STRIDE = 16  # distance of places in pixels of the image
_TARGETS = ("targets", "inside_weights", "outside_weights")

_FIXED = {"param": [{"lr_mult": 0, "decay_mult": 0}] * 2}
_LEARNED = {"param": [{"lr_mult": 1}, {"lr_mult": 2}]}


def _gaussian(std: float) -> dict[str, Any]:
    fillers = {"weight_filler": {"type": "gaussian", "std": std}, "bias_filler": {"type": "constant", "value": 0}}
    return {**_LEARNED, **fillers}


def _python(
    name: str, bottoms: list[str], tops: list[str], code: str, setting: str, phase: pb.NetStateRule
) -> pb.LayerParameter:
    """Return one of the authors' Python layers, by module and class."""
    module, _, layer = code.rpartition(".")
    python = pb.PythonParameter(module=module, layer=layer, param_str=setting)
    return Python(name, bottoms, tops=tops, python_param=python, include=phase)


def _targets(blob: str) -> list[str]:
    """Return the tops for box targets and for their inside and outside weights."""
    return [f"{blob}_{what}" for what in _TARGETS]


def _proposals() -> list[pb.LayerParameter]:
    """Return the net that proposes regions. For each anchor it predicts whether it shows an object, and corrects its
    edges."""
    return [
        ConvLayer(
            "rpn_conv/3x3", ["conv5_3"], tops=["rpn/output"], kernel=3, pad=1, num_filters=512, **_gaussian(0.01)
        ),
        ReLU("rpn_relu/3x3", ["rpn/output"], in_place=True),
        ConvLayer("rpn_cls_score", ["rpn/output"], kernel=1, num_filters=2 * _ANCHORS, **_gaussian(0.01)),
        ConvLayer("rpn_bbox_pred", ["rpn/output"], kernel=1, num_filters=4 * _ANCHORS, **_gaussian(0.01)),
        Reshape("rpn_cls_score_reshape", ["rpn_cls_score"], shape={"dim": [0, 2, -1, 0]}),
        *_proposal_losses(),
        Softmax("rpn_cls_prob", ["rpn_cls_score_reshape"]),
        Reshape("rpn_cls_prob_reshape", ["rpn_cls_prob"], shape={"dim": [0, 2 * _ANCHORS, -1, 0]}),
        _proposed("rpn_rois", TRAIN_ONLY),
        _proposed("rois", TEST_ONLY),
    ]


def _proposal_losses() -> list[pb.LayerParameter]:
    boxes = _targets("rpn_bbox")
    return [
        _python(
            "rpn-data",
            ["rpn_cls_score", "gt_boxes", "im_info", "data"],
            ["rpn_labels", *boxes],
            "rpn.anchor_target_layer.AnchorTargetLayer",
            f"'feat_stride': {_STRIDE}",
            TRAIN_ONLY,
        ),
        SoftmaxWithLoss(
            "rpn_loss_cls",
            ["rpn_cls_score_reshape", "rpn_labels"],
            tops=["rpn_cls_loss"],
            include=TRAIN_ONLY,
            propagate_down=[True, False],
            loss_weight=1,
            loss_param={"ignore_label": -1, "normalize": True},
        ),
        SmoothL1Loss("rpn_loss_bbox", ["rpn_bbox_pred", *boxes], include=TRAIN_ONLY, loss_weight=1, sigma=3),
    ]


def _proposed(top: str, phase: pb.NetStateRule) -> pb.LayerParameter:
    bottoms = ["rpn_cls_prob_reshape", "rpn_bbox_pred", "im_info"]
    layer = "rpn.proposal_layer.ProposalLayer"
    return _python("proposal", bottoms, [top], layer, f"'feat_stride': {_STRIDE}", phase)


def _regions(classes: int) -> list[pb.LayerParameter]:
    """Return the net that reads each region. It predicts the region's class and a correction for every class."""
    return [
        _python(
            "roi-data",
            ["rpn_rois", "gt_boxes"],
            ["rois", "labels", *_targets("bbox")],
            "rpn.proposal_target_layer.ProposalTargetLayer",
            f"'num_classes': {classes}",
            TRAIN_ONLY,
        ),
        ROIPooling("roi_pool5", ["conv5_3", "rois"], tops=["pool5"], pooled_w=7, pooled_h=7, spatial_scale=1 / _STRIDE),
        *_fully_connected(6, "pool5"),
        *_fully_connected(7, "fc6"),
        LinearLayer("cls_score", ["fc7"], num_outputs=classes, **_gaussian(0.01)),
        LinearLayer("bbox_pred", ["fc7"], num_outputs=4 * classes, **_gaussian(0.001)),
        SoftmaxWithLoss(
            "loss_cls", ["cls_score", "labels"], include=TRAIN_ONLY, propagate_down=[True, False], loss_weight=1
        ),
        SmoothL1Loss("loss_bbox", ["bbox_pred", *_targets("bbox")], include=TRAIN_ONLY, loss_weight=1),
        Softmax("cls_prob", ["cls_score"], include=TEST_ONLY),
    ]


def _fully_connected(number: int, bottom: str) -> list[pb.LayerParameter]:
    name = f"fc{number}"
    return [
        LinearLayer(name, [bottom], num_outputs=4096, **_LEARNED),
        ReLU(f"relu{number}", [name], in_place=True),
        Dropout(f"drop{number}", [name], in_place=True, dropout_ratio=0.5),
    ]


def faster_rcnn_vgg16(classes: int = _CLASSES) -> CatalogueEntry:
    """Return Faster R-CNN for joint training. `im_info` contains an image's height, width and scale."""
    images = ["data", "im_info", "gt_boxes"]
    net = CatalogueNet(
        "VGG_ILSVRC_16_layers",
        _python(
            "input-data",
            [],
            images,
            "roi_data_layer.layer.RoIDataLayer",
            f"'num_classes': {classes}",
            TRAIN_ONLY,
        ),
        RDDLayer("data", shape=[1, 3, 600, 1000], include=TEST_ONLY),
        RDDLayer("im_info", shape=[1, 3], include=TEST_ONLY),
        *vgg_trunk([_FIXED, _FIXED, _LEARNED, _LEARNED, _LEARNED]),
        *_proposals(),
        *_regions(classes),
    )
    solver = solver_settings(
        base_lr=0.001,
        lr_policy="step",
        gamma=0.1,
        stepsize=50000,
        momentum=0.9,
        weight_decay=0.0005,
        iter_size=2,
        max_iter=70000,
        display=20,
        average_loss=100,
    )
    return CatalogueEntry(net, solver)
