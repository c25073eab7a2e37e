"""The common parts of SSD detectors: default boxes on several layers, their loss, and the detections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl import (
    AnnotatedData,
    Concat,
    DetectionEvaluate,
    DetectionOutput,
    Flatten,
    MultiBoxLoss,
    Permute,
    PriorBox,
    Reshape,
    Softmax,
)
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY

VOC_CLASSES = 21  # including the background

# A function that builds a layer from its name, bottom and channels.
Predictor = Callable[[str, str, int], pb.LayerParameter]


@dataclass(frozen=True)
class BoxedBlob:
    """A blob with a default box of each shape around every place. Sizes are in pixels of the image.

    With both sizes, there is a square of the first size and a square of their geometric mean. Ratios are width to
    height, and their inverses are added.
    """

    blob: str
    min_size: float
    max_size: float | None
    ratios: Sequence[float]
    step: float | None = None  # distance between places; by default the image's size divided by the blob's

    @property
    def boxes(self) -> int:
        """The number of default boxes at each place."""
        return 1 + (self.max_size is not None) + 2 * len(self.ratios)


def annotated_data(
    phase: pb.NetStateRule, *, transform: dict[str, Any], labels: str, side: int = 300, **data: Any
) -> pb.LayerParameter:
    """Return a data layer for images with boxes. In training, images are distorted, expanded and cropped to parts that
    overlap enough with a box."""
    training = phase == TRAIN_ONLY
    settings: dict[str, Any] = {
        "transform_param": {**_resized(training, side), **(_DISTORTED if training else {}), **transform},
        "data_param": {**data, "backend": "LMDB", "force_encoded_color": True},
        "batch_sampler": _sampled() if training else [{}],
    }
    return AnnotatedData("data", tops=["data", "label"], include=phase, label_map_file=labels, **settings)


_DISTORTED = {
    "mirror": True,
    "emit_constraint": {"emit_type": "CENTER"},
    "distort_param": {
        "brightness_prob": 0.5,
        "brightness_delta": 32,
        "contrast_prob": 0.5,
        "contrast_lower": 0.5,
        "contrast_upper": 1.5,
        "hue_prob": 0.5,
        "hue_delta": 18,
        "saturation_prob": 0.5,
        "saturation_lower": 0.5,
        "saturation_upper": 1.5,
        "random_order_prob": 0,
    },
    "expand_param": {"prob": 0.5, "max_expand_ratio": 4},
}


def _resized(training: bool, side: int) -> dict[str, Any]:
    modes = ["LINEAR", *(["AREA", "NEAREST", "CUBIC", "LANCZOS4"] if training else [])]
    return {"resize_param": {"prob": 1, "resize_mode": "WARP", "height": side, "width": side, "interp_mode": modes}}


def _sampled() -> list[dict[str, Any]]:
    """Return samplers: the whole image, crops with a minimum overlap with an object, and arbitrary crops."""
    part = {"min_scale": 0.3, "max_scale": 1, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2}
    constraints = [{"min_jaccard_overlap": overlap} for overlap in (0.1, 0.3, 0.5, 0.7, 0.9)]
    constraints += [{"max_jaccard_overlap": 1.0}]
    whole = {"max_sample": 1, "max_trials": 1}
    tries = {"max_sample": 1, "max_trials": 50}
    return [whole, *({"sampler": part, "sample_constraint": constraint, **tries} for constraint in constraints)]


def box_layers(
    sources: Sequence[BoxedBlob], *, locations: Predictor, confidences: Predictor, classes: int = VOC_CLASSES
) -> list[pb.LayerParameter]:
    """Return layers for the corrections of all default boxes, their class scores, and the boxes themselves, each in one
    blob."""
    layers = []
    for source in sources:
        name = f"{source.blob}_mbox"
        layers += _flat(locations(f"{name}_loc", source.blob, source.boxes * 4))
        layers += _flat(confidences(f"{name}_conf", source.blob, source.boxes * classes))
        layers.append(_default_boxes(source))
    for what, part, axis in (("loc", "loc_flat", 1), ("conf", "conf_flat", 1), ("priorbox", "priorbox", 2)):
        layers.append(Concat(f"mbox_{what}", [f"{source.blob}_mbox_{part}" for source in sources], axis=axis))
    return layers


def _flat(predictor: pb.LayerParameter) -> list[pb.LayerParameter]:
    """Return a predictor whose values are flattened for each image, place by place."""
    permuted = f"{predictor.name}_perm"
    return [
        predictor,
        Permute(permuted, [predictor.name], order=[0, 2, 3, 1]),
        Flatten(f"{predictor.name}_flat", [permuted], axis=1),
    ]


def _default_boxes(source: BoxedBlob) -> pb.LayerParameter:
    optional: dict[str, Any] = {"max_size": source.max_size, "step": source.step}
    return PriorBox(
        f"{source.blob}_mbox_priorbox",
        [source.blob, "data"],
        min_size=source.min_size,
        aspect_ratio=source.ratios,
        flip=True,
        clip=False,
        variance=[0.1, 0.1, 0.2, 0.2],
        offset=0.5,
        **{name: value for name, value in optional.items() if value is not None},
    )


def multibox_loss(classes: int = VOC_CLASSES) -> pb.LayerParameter:
    """Return the loss of classes and corrections, with three background boxes for each box that matches an object."""
    return MultiBoxLoss(
        "mbox_loss",
        ["mbox_loc", "mbox_conf", "mbox_priorbox", "label"],
        include=TRAIN_ONLY,
        propagate_down=[True, True, False, False],
        loss_param={"normalization": "VALID"},
        loc_loss_type="SMOOTH_L1",
        conf_loss_type="SOFTMAX",
        loc_weight=1,
        num_classes=classes,
        share_location=True,
        match_type="PER_PREDICTION",
        overlap_threshold=0.5,
        use_prior_for_matching=True,
        background_label_id=0,
        use_difficult_gt=True,
        neg_pos_ratio=3,
        neg_overlap=0.5,
        code_type="CENTER_SIZE",
        ignore_cross_boundary_bbox=False,
        mining_type="MAX_NEGATIVE",
    )


def detections(classes: int = VOC_CLASSES, **evaluation: Any) -> list[pb.LayerParameter]:
    """Return the layers that keep the best 200 boxes of an image, drop overlapping boxes of the same class, and
    evaluate the rest."""
    return [
        Reshape("mbox_conf_reshape", ["mbox_conf"], shape={"dim": [0, -1, classes]}, include=TEST_ONLY),
        Softmax("mbox_conf_softmax", ["mbox_conf_reshape"], axis=2, include=TEST_ONLY),
        Flatten("mbox_conf_flatten", ["mbox_conf_softmax"], axis=1, include=TEST_ONLY),
        DetectionOutput(
            "detection_out",
            ["mbox_loc", "mbox_conf_flatten", "mbox_priorbox"],
            include=TEST_ONLY,
            num_classes=classes,
            share_location=True,
            background_label_id=0,
            nms_param={"nms_threshold": 0.45, "top_k": 400},
            code_type="CENTER_SIZE",
            keep_top_k=200,
            confidence_threshold=0.01,
        ),
        DetectionEvaluate(
            "detection_eval",
            ["detection_out", "label"],
            include=TEST_ONLY,
            num_classes=classes,
            background_label_id=0,
            overlap_threshold=0.5,
            evaluate_difficult_gt=False,
            **evaluation,
        ),
    ]
