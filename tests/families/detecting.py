"""Small nets that propose regions and classify them, in the style of Faster R-CNN and R-FCN."""

from __future__ import annotations

from tests.families.prototxt import conv, layer, pool, python, relu, trunk

CLASSES = 5  # including the background
SIDE = 96  # of a picture, in pixels
_STRIDE, _ANCHORS = 8, 9
_BOXES = "'feat_stride': 8, 'scales': [1, 2, 3], 'ratios': [0.5, 1, 2], 'rpn_min_size': 6"
_PROPOSED = f"{{{_BOXES}, 'rpn_pre_nms_top_n': 600, 'rpn_post_nms_top_n': 100}}"


def faster_rcnn(source: str) -> str:
    """Return the net for training, which proposes, pools and classifies regions."""
    return "\n".join(
        ["name: 'FasterRCNN'", _data(source), _trunk(), *_proposing(), *_sampled(), *_looking(), *_losses()]
    )


def faster_rcnn_for_tests() -> str:
    """Return the net for use."""
    return "\n".join(
        ["name: 'FasterRCNN'", _input(), _trunk(), *_heads(), _proposed("rois"), *_looking(), _probabilities()]
    )


def rfcn(source: str) -> str:
    """Return the net for training. Each part of a region votes with its own scores."""
    parts = [_data(source), _trunk(), *_proposing(), *_sampled(agnostic=True), *_voting(), *_losses()]
    return "\n".join(["name: 'RFCN'", *parts])


def rfcn_for_tests() -> str:
    """Return the net for use."""
    return "\n".join(["name: 'RFCN'", _input(), _trunk(), *_heads(), _proposed("rois"), *_voting(), _probabilities()])


def _data(source: str) -> str:
    settings = f"'num_classes': {CLASSES}, 'source': '{source}', 'scales': [{SIDE}], 'pixel_means': [[[0, 0, 0]]]"
    return python("data", "", "data im_info gt_boxes", "roi_data_layer.layer.RoIDataLayer", f"{{{settings}}}")


def _input() -> str:
    shapes = f"shape {{ dim: 1 dim: 3 dim: {SIDE} dim: {SIDE} }} shape {{ dim: 1 dim: 3 }}"
    return layer("Input", "input", "", f"input_param {{ {shapes} }}", "data im_info")


def _trunk() -> str:
    scaled = layer("Power", "scaled", "data", "power_param { scale: 0.015625 shift: -2 }")
    return f"{scaled}\n{trunk(16, 32, 64, 64, bottom='scaled')}"


def _heads() -> list[str]:
    shape = "reshape_param { shape { dim: 0 dim: 2 dim: -1 dim: 0 } }"
    back = f"reshape_param {{ shape {{ dim: 0 dim: {2 * _ANCHORS} dim: -1 dim: 0 }} }}"
    return [
        conv("rpn", "conv4", 64),
        relu("rpn"),
        conv("rpn_cls_score", "rpn", 2 * _ANCHORS, 1, filler="xavier"),
        conv("rpn_bbox_pred", "rpn", 4 * _ANCHORS, 1, filler="xavier"),
        layer("Reshape", "rpn_scores", "rpn_cls_score", shape),
        layer("Softmax", "rpn_prob", "rpn_scores"),
        layer("Reshape", "rpn_probs", "rpn_prob", back),
    ]


def _proposed(top: str) -> str:
    return python("proposal", "rpn_probs rpn_bbox_pred im_info", top, "rpn.proposal_layer.ProposalLayer", _PROPOSED)


def _proposing() -> list[str]:
    code, targets = "rpn.anchor_target_layer.AnchorTargetLayer", "rpn_bbox_targets rpn_inside rpn_outside"
    bottoms = "rpn_cls_score gt_boxes im_info data"
    return [
        *_heads(),
        python("rpn-data", bottoms, f"rpn_labels {targets}", code, f"{{{_BOXES}, 'rpn_batchsize': 64}}"),
        layer("SoftmaxWithLoss", "rpn_cls_loss", "rpn_scores rpn_labels", "loss_param { ignore_label: -1 }"),
        layer(
            "SmoothL1Loss",
            "rpn_bbox_loss",
            f"rpn_bbox_pred {targets}",
            "smooth_l1_loss_param { sigma: 3 } loss_weight: 1",
        ),
    ]


def _sampled(*, agnostic: bool = False) -> list[str]:
    code, tops = "rpn.proposal_target_layer.ProposalTargetLayer", "rois labels bbox_targets inside outside"
    classes = 2 if agnostic else CLASSES  # the number of classes that boxes have
    settings = f"'num_classes': {classes}, 'batch_size': 48, 'bg_thresh_lo': 0"
    return [_proposed("rpn_rois"), python("roi-data", "rpn_rois gt_boxes", tops, code, f"{{{settings}}}")]


def _looking() -> list[str]:
    def inner(name: str, bottom: str, outputs: int) -> str:
        param = f"inner_product_param {{ num_output: {outputs} weight_filler {{ type: 'xavier' }} }}"
        return layer("InnerProduct", name, bottom, param)

    window = f"roi_pooling_param {{ pooled_w: 4 pooled_h: 4 spatial_scale: {1 / _STRIDE} }}"
    return [
        layer("ROIPooling", "pool", "conv4 rois", window),
        inner("fc", "pool", 96),
        relu("fc"),
        inner("cls_score", "fc", CLASSES),
        inner("bbox_pred", "fc", 4 * CLASSES),
    ]


def _voting() -> list[str]:
    def votes(name: str, outputs: int) -> list[str]:
        param = f"psroi_pooling_param {{ spatial_scale: {1 / _STRIDE} output_dim: {outputs} group_size: 3 }}"
        return [
            conv(f"{name}_maps", "conv4", 9 * outputs, 1, filler="xavier"),
            layer("PSROIPooling", f"{name}_parts", f"{name}_maps rois", param),
            pool(name, f"{name}_parts", "pool: AVE kernel_size: 3 stride: 3"),
        ]

    return [*votes("cls_score", CLASSES), *votes("bbox_pred", 8)]


def _losses() -> list[str]:
    return [
        layer("SoftmaxWithLoss", "loss_cls", "cls_score labels"),
        layer("SmoothL1Loss", "loss_bbox", "bbox_pred bbox_targets inside outside", "loss_weight: 1"),
    ]


def _probabilities() -> str:
    return layer("Softmax", "cls_prob", "cls_score")
