"""A Faster R-CNN that is small enough to train in a test, with two classes behind the background."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text

CLASSES, ANCHORS = 3, 4


def small_faster_rcnn(data: str, target_settings: str = "", anchor_settings: str = "") -> pb.NetParameter:
    """The net behind a layer that brings data, im_info and gt_boxes, with settings of the layers that make targets."""
    return from_text(f"name: 'small' {data} {_body(target_settings, anchor_settings)}", pb.NetParameter)


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


def _body(target_settings: str, anchor_settings: str) -> str:
    anchors = "'feat_stride': 8, 'scales': [1, 2], 'ratios': [0.5, 1], 'rpn_min_size': 4"
    rpn_targets = "rpn_bbox_targets rpn_inside rpn_outside"
    return " ".join(
        [
            _learned("conv", "data", 16, kernel=8, std=0.002),
            "layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }",
            _learned("rpn_cls_score", "conv", 2 * ANCHORS),
            _learned("rpn_bbox_pred", "conv", 4 * ANCHORS),
            _reshape("rpn_cls_score", "rpn_scores", 2),
            _python(
                "rpn-data", "rpn_cls_score gt_boxes im_info data", f"rpn_labels {rpn_targets}",
                "rpn.anchor_target_layer.AnchorTargetLayer", f"{{{anchors}, {anchor_settings}}}",
            ),
            _loss("rpn_cls_loss", "SoftmaxWithLoss", "rpn_scores rpn_labels", "loss_param { ignore_label: -1 }"),
            _loss("rpn_bbox_loss", "SmoothL1Loss", f"rpn_bbox_pred {rpn_targets}", "smooth_l1_loss_param { sigma: 3 }"),
            "layer { name: 'rpn_prob' type: 'Softmax' bottom: 'rpn_scores' top: 'rpn_prob' }",
            _reshape("rpn_prob", "rpn_probs", 2 * ANCHORS),
            _python(
                "proposal", "rpn_probs rpn_bbox_pred im_info", "rpn_rois", "rpn.proposal_layer.ProposalLayer",
                f"{{{anchors}, {anchor_settings}}}",
            ),
            _python(
                "roi-data", "rpn_rois gt_boxes", "rois labels bbox_targets inside outside",
                "rpn.proposal_target_layer.ProposalTargetLayer",
                f"{{'num_classes': {CLASSES}, 'batch_size': 32, 'bg_thresh_lo': 0, {target_settings}}}",
            ),
            "layer { name: 'pool' type: 'ROIPooling' bottom: 'conv' bottom: 'rois' top: 'pool' "
            "roi_pooling_param { pooled_w: 3 pooled_h: 3 spatial_scale: 0.125 } }",
            _learned("fc", "pool", 24, kind="InnerProduct", std=0.02),
            "layer { name: 'fc_relu' type: 'ReLU' bottom: 'fc' top: 'fc' }",
            _learned("cls_score", "fc", CLASSES, kind="InnerProduct"),
            _learned("bbox_pred", "fc", 4 * CLASSES, kind="InnerProduct"),
            _loss("loss_cls", "SoftmaxWithLoss", "cls_score labels"),
            _loss("loss_bbox", "SmoothL1Loss", "bbox_pred bbox_targets inside outside"),
        ]
    )  # fmt: skip
