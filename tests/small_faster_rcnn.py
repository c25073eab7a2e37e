"""A Faster R-CNN that is small enough to train in a test, with two classes besides the background."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text

CLASSES, ANCHORS = 3, 4


def small_faster_rcnn(data: str, target_settings: str = "", anchor_settings: str = "") -> pb.NetParameter:
    """Return the net after a layer that reads data, im_info and gt_boxes, with settings for the layers that make
    targets."""
    parts = [*_conv(), *_proposing(anchor_settings), *_proposals(anchor_settings)]
    return _net(data, *parts, _targets(target_settings), *_looking())


def small_rpn(data: str) -> pb.NetParameter:
    """Return the part that proposes regions, to be trained alone."""
    return _net(data, *_conv(), *_proposing(""))


def small_rpn_for_tests() -> pb.NetParameter:
    """Return the part that proposes regions, for use."""
    shapes = "shape { dim: 1 dim: 3 dim: 48 dim: 64 } shape { dim: 1 dim: 3 }"
    data = f"layer {{ name: 'in' type: 'Input' top: 'data' top: 'im_info' input_param {{ {shapes} }} }}"
    return _net(data, *_conv(), *_heads(), *_proposals(""))


def small_fast_rcnn(data: str) -> pb.NetParameter:
    """Return the part that classifies regions, after a layer that reads data, rois and the targets."""
    return _net(data, *_conv(), *_looking())


def _net(*parts: str) -> pb.NetParameter:
    return from_text(f"name: 'small' {' '.join(parts)}", pb.NetParameter)


def _python(name: str, bottoms: str, tops: str, code: str, settings: str) -> str:
    module, _, layer = code.rpartition(".")
    blobs = "".join(f"bottom: '{blob}' " for blob in bottoms.split()) + "".join(
        f"top: '{top}' " for top in tops.split()
    )
    python = f"module: '{module}' layer: '{layer}' param_str: \"{settings}\""
    return f"layer {{ name: '{name}' type: 'Python' {blobs} python_param {{ {python} }} }}"


def _learned(
    name: str, bottom: str, outputs: int, kernel: int = 1, kind: str = "Convolution", std: float = 0.01
) -> str:
    window = f" kernel_size: {kernel} stride: {kernel}" if kind == "Convolution" else ""
    param = "convolution_param" if kind == "Convolution" else "inner_product_param"
    filler = f"weight_filler {{ type: 'gaussian' std: {std} }}"
    settings = f"{param} {{ num_output: {outputs}{window} {filler} }}"
    return f"layer {{ name: '{name}' type: '{kind}' bottom: '{bottom}' top: '{name}' {settings} }}"


def _loss(name: str, kind: str, bottoms: str, settings: str = "") -> str:
    blobs = "".join(f"bottom: '{blob}' " for blob in bottoms.split())
    return f"layer {{ name: '{name}' type: '{kind}' {blobs} top: '{name}' loss_weight: 1 {settings} }}"


def _reshape(bottom: str, top: str, channels: int) -> str:
    shape = f"reshape_param {{ shape {{ dim: 0 dim: {channels} dim: -1 dim: 0 }} }}"
    return f"layer {{ name: '{top}' type: 'Reshape' bottom: '{bottom}' top: '{top}' {shape} }}"


_ANCHORS = "'feat_stride': 8, 'scales': [1, 2], 'ratios': [0.5, 1], 'rpn_min_size': 4"
_RPN_TARGETS = "rpn_bbox_targets rpn_inside rpn_outside"


def _conv() -> list[str]:
    relu = "layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }"
    return [_learned("conv", "data", 16, kernel=8, std=0.002), relu]


def _heads() -> list[str]:
    scores = _reshape("rpn_cls_score", "rpn_scores", 2)
    return [_learned("rpn_cls_score", "conv", 2 * ANCHORS), _learned("rpn_bbox_pred", "conv", 4 * ANCHORS), scores]


def _proposing(settings: str) -> list[str]:
    code, bottoms = "rpn.anchor_target_layer.AnchorTargetLayer", "rpn_cls_score gt_boxes im_info data"
    return [
        *_heads(),
        _python("rpn-data", bottoms, f"rpn_labels {_RPN_TARGETS}", code, f"{{{_ANCHORS}, {settings}}}"),
        _loss("rpn_cls_loss", "SoftmaxWithLoss", "rpn_scores rpn_labels", "loss_param { ignore_label: -1 }"),
        _loss("rpn_bbox_loss", "SmoothL1Loss", f"rpn_bbox_pred {_RPN_TARGETS}", "smooth_l1_loss_param { sigma: 3 }"),
    ]


def _proposals(settings: str) -> list[str]:
    code, bottoms = "rpn.proposal_layer.ProposalLayer", "rpn_probs rpn_bbox_pred im_info"
    return [
        "layer { name: 'rpn_prob' type: 'Softmax' bottom: 'rpn_scores' top: 'rpn_prob' }",
        _reshape("rpn_prob", "rpn_probs", 2 * ANCHORS),
        _python("proposal", bottoms, "rpn_rois", code, f"{{{_ANCHORS}, {settings}}}"),
    ]


def _targets(settings: str) -> str:
    code = "rpn.proposal_target_layer.ProposalTargetLayer"
    sampling = f"{{'num_classes': {CLASSES}, 'batch_size': 32, 'bg_thresh_lo': 0, {settings}}}"
    return _python("roi-data", "rpn_rois gt_boxes", "rois labels bbox_targets inside outside", code, sampling)


def _looking() -> list[str]:
    window = "roi_pooling_param { pooled_w: 3 pooled_h: 3 spatial_scale: 0.125 }"
    return [
        f"layer {{ name: 'pool' type: 'ROIPooling' bottom: 'conv' bottom: 'rois' top: 'pool' {window} }}",
        _learned("fc", "pool", 24, kind="InnerProduct", std=0.02),
        "layer { name: 'fc_relu' type: 'ReLU' bottom: 'fc' top: 'fc' }",
        _learned("cls_score", "fc", CLASSES, kind="InnerProduct"),
        _learned("bbox_pred", "fc", 4 * CLASSES, kind="InnerProduct"),
        _loss("loss_cls", "SoftmaxWithLoss", "cls_score labels"),
        _loss("loss_bbox", "SmoothL1Loss", "bbox_pred bbox_targets inside outside"),
    ]
