"""The shared code of Faster R-CNN's layers: settings, anchors, boxes that include their last pixel, and sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor, arange, cat

from caffe_proto import caffe_pb2 as pb
from caffe_proto.limits import Limit
from netdsl.errors import NetError, ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_boxes import decode_onnx
from netdsl.layer.onnx_form import UNKNOWN, part, reduced, reshaped, transposed
from netdsl.layer.tops import Rows, TargetUnits
from netdsl.layers._boxes import decode, encode
from netdsl.layers._constants import constants
from netdsl.layers._settings import read_param_str

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Settings = TypeVar("Settings", bound="DataclassInstance")
Numbers = Sequence[float]
Pick = Callable[[Tensor, int], Tensor]  # returns at most this many of the places where a mask is true
_WORDS = {"int": "a whole number", "float": "a number", "bool": "True or False", "str": "a string"}
Anchor = tuple[float, float, float, float]


@dataclass(frozen=True)
class RegionSettings:
    """The settings of py-faster-rcnn that concern regions. `param_str` can also contain them.

    The means and deviations of box targets are four numbers, or four for each class.
    """

    batch_size: int = 128  # -1 means all regions, as in R-FCN
    fg_fraction: float = 0.25
    fg_thresh: float = 0.5
    bg_thresh_hi: float = 0.5
    bg_thresh_lo: float = 0.1
    bbox_inside_weights: Numbers = (1, 1, 1, 1)
    bbox_normalize_targets: bool = True
    bbox_normalize_targets_precomputed: bool = False
    bbox_normalize_means: Numbers | Sequence[Numbers] = (0, 0, 0, 0)
    bbox_normalize_stds: Numbers | Sequence[Numbers] = (0.1, 0.1, 0.2, 0.2)

    def units(self, classes: int) -> TargetUnits | None:
        """Return the units of box targets, or `None` if they depend on the data or aren't used."""
        if not (self.bbox_normalize_targets and self.bbox_normalize_targets_precomputed):
            return None
        means = _per_row("bbox_normalize_means", self.bbox_normalize_means, classes)
        deviations = _per_row("bbox_normalize_stds", self.bbox_normalize_stds, classes)
        if min(map(min, deviations)) <= 0:
            raise NetError(
                "a number in bbox_normalize_stds isn't positive, but targets are divided by it; set it to more than 0"
            )
        return TargetUnits(means, deviations)


@dataclass(frozen=True)
class RpnSettings(RegionSettings):
    """The settings of py-faster-rcnn for region proposals, with its names and defaults.

    `param_str` can also contain them. R-FCN adds `rpn_normalize_targets`, which concerns the anchors' targets.
    """

    rpn_pre_nms_top_n: int = 12000
    rpn_post_nms_top_n: int = 2000
    rpn_nms_thresh: float = 0.7
    rpn_min_size: float = 16
    rpn_positive_overlap: float = 0.7
    rpn_negative_overlap: float = 0.3
    rpn_clobber_positives: bool = False
    rpn_fg_fraction: float = 0.5
    rpn_batchsize: int = 256
    rpn_bbox_inside_weights: Numbers = (1, 1, 1, 1)
    rpn_positive_weight: float = -1
    rpn_normalize_targets: bool = False
    rpn_normalize_means: Numbers = (0, 0, 0, 0)
    rpn_normalize_stds: Numbers = (0.1, 0.1, 0.2, 0.2)

    @classmethod
    def of(cls, phase: int, settings: dict[str, Any]) -> RpnSettings:
        """Return the default settings of a phase, changed by a layer's own settings."""
        base = cls() if phase == pb.TRAIN else cls(rpn_pre_nms_top_n=6000, rpn_post_nms_top_n=300)
        return with_settings(base, settings)

    def anchor_units(self, anchors: int) -> TargetUnits | None:
        """Return the units of the anchors' targets, or `None` if they aren't normalized."""
        if not self.rpn_normalize_targets:
            return None
        means = _per_row("rpn_normalize_means", self.rpn_normalize_means, anchors)
        return TargetUnits(means, _per_row("rpn_normalize_stds", self.rpn_normalize_stds, anchors))


def with_settings(base: Settings, settings: Mapping[str, Any]) -> Settings:
    """Return the settings, changed by a layer's own ones. The case of names doesn't matter."""
    kinds = {field.name: str(field.type) for field in fields(base)}
    changes = {name.lower(): value for name, value in settings.items() if name.lower() in kinds}
    for name, value in changes.items():
        _check_kind(name, value, kinds[name])
    return replace(base, **changes)


def _check_kind(name: str, value: Any, kind: str) -> None:
    """Raise a `NetError` if a value's type isn't that of the setting."""
    if kind == "float":
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    elif kind in _WORDS:
        fits = type(value).__name__ == kind
    else:
        fits = isinstance(value, list | tuple) and _are_numbers(value)
    if not fits:
        raise NetError(f"param_str sets {name} to {value!r}; set it to {_WORDS.get(kind, 'a list of numbers')}")


def _are_numbers(values: object) -> bool:
    """Return whether values are finite numbers, or lists of the same number of them."""
    try:
        return bool(np.isfinite(np.asarray(values, np.float64)).all())
    except (TypeError, ValueError):
        return False


def _per_row(name: str, values: Numbers | Sequence[Numbers], rows: int) -> Rows:
    """Return four numbers for each row, given four for all rows or four for each."""
    each = np.asarray(values, np.float64)
    if each.shape not in ((4,), (rows, 4)):
        raise NetError(f"param_str sets {name} to {values!r}; set it to four numbers, or {rows} lists of four")
    return tuple(map(tuple, np.broadcast_to(each, (rows, 4)).tolist()))


def layer_settings(layer: pb.LayerParameter, *needed: str) -> dict[str, Any]:
    """Return the settings of a Python layer. Raises a `NetError` unless each needed setting is a positive whole
    number."""
    settings = read_param_str(layer.python_param.param_str)
    for name in needed:
        if not isinstance(settings.get(name), int) or settings[name] < 1:
            raise NetError(f"param_str doesn't set '{name}' to a whole number; set it to 1 or more")
    return settings


def one_image(bottoms: Sequence[Shape]) -> None:
    """Raise a `ShapeError` unless the first bottom contains exactly one image."""
    if len(bottoms[0]) != 4 or bottoms[0][0] != 1:
        raise ShapeError(
            f"the first bottom must be one image, (1, channels, height, width), not {list(bottoms[0])}; set the "
            "batch size to 1 in the net's data layer or Input layer"
        )


def anchors(
    scales: Sequence[float],
    ratios: Sequence[float] = (0.5, 1, 2),
    base: int = 16,
    to_int: Callable[[float], int] = round,
) -> list[Anchor]:
    """Return the anchors at the first position of a feature map, by ratio and then scale.

    By default, `round` rounds halves to even, as in py-faster-rcnn.
    """
    Limit.BOXES.check(len(scales) * len(ratios), "each position of the map")
    boxes = []
    for ratio in ratios:
        width = to_int(math.sqrt(base * base / ratio))
        height = to_int(width * ratio)
        for scale in scales:
            x, y = ((base - side * scale) / 2 for side in (width, height))
            boxes.append((x, y, base - 1 - x, base - 1 - y))
    return boxes


def in_units(targets: Tensor, units: TargetUnits | None, rows: Tensor) -> Tensor:
    """Return normalized targets: minus the means and divided by the deviations of their rows."""
    if units is None:
        return targets
    means, deviations = (constants(each, targets)[rows] for each in (units.means, units.deviations))
    return (targets - means) / deviations


def chosen(overlap: Tensor, settings: RegionSettings, images: int, pick: Pick) -> tuple[Tensor, int]:
    """Return the sampled regions of one image in a batch, objects first, and the number of objects.

    `overlap` is each region's largest overlap with an object.
    """
    s, every = settings, settings.batch_size <= 0
    room = len(overlap) if every else s.batch_size // images
    positive = pick(overlap >= s.fg_thresh, room if every else round(s.fg_fraction * room))
    negative = pick((overlap < s.bg_thresh_hi) & (overlap >= s.bg_thresh_lo), room - len(positive))
    return cat((positive, negative)), len(positive)


def class_targets(labels: Tensor, targets: Tensor, classes: int, weights: Numbers) -> tuple[Tensor, Tensor]:
    """Return the box targets in the columns of each region's class, zeros in all other columns, and their weights.

    Regions of class 0, the background, have no targets. If there are fewer box classes than classes, as in R-FCN with
    two, the last one stands for all further classes.
    """
    own = box_classes(labels, classes)[:, None] == arange(classes, device=labels.device)
    own &= (labels > 0)[:, None]
    inside = own[..., None] * constants(weights, targets)
    return (own[..., None] * targets[:, None]).flatten(1), inside.flatten(1)


def box_classes(labels: Tensor, classes: int) -> Tensor:
    """Return the box class of each label. All labels that are too large share the last one."""
    return labels.clamp_max(classes - 1)


def placed(around: Sequence[Anchor], like: Tensor, stride: int) -> Tensor:
    """Return the anchors at all positions of a feature map, by row, column and anchor."""
    y, x = (torch.arange(count, device=like.device) * stride for count in like.shape[-2:])
    corner = torch.stack((x.expand(len(y), -1), y[:, None].expand(-1, len(x))), -1)
    return (torch.cat((corner, corner), -1)[:, :, None] + constants(around, like)).reshape(-1, 4)


def by_place(x: Tensor, each: int) -> Tensor:
    """Return the predictions of one image (channels first) in the order of `placed` anchors."""
    return x.permute(1, 2, 0).reshape(-1, each)


def _inclusive(boxes: Tensor) -> Tensor:
    """Return the boxes with their right and lower edges moved to the end of the last pixel."""
    return boxes + constants((0, 0, 1, 1), boxes)


def pixel_targets(boxes: Tensor, objects: Tensor) -> Tensor:
    """Return the regression targets of boxes that are matched to objects."""
    return encode(pb.PriorBoxParameter.CENTER_SIZE, _inclusive(objects), _inclusive(boxes))


def pixel_boxes(boxes: Tensor, codes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Return the predicted boxes within the image. py-faster-rcnn's rule: they end one pixel later than they should."""
    decoded = decode(pb.PriorBoxParameter.CENTER_SIZE, codes, _inclusive(boxes))
    most = torch.stack((width, height, width, height)) - 1
    return decoded.minimum(most).clamp_min(0)


def placed_onnx(g: OnnxGraph, around: Sequence[Anchor], like: str, stride: int) -> str:
    """Write `placed` in ONNX operators, for anchors that include their last pixel."""
    size = torch.empty(g.length(like, 2), g.length(like, 3), device="cpu")
    return g.constant(_inclusive(placed(around, size, stride)).numpy())


def by_place_onnx(g: OnnxGraph, x: str, each: int) -> str:
    """Write `by_place` for a whole batch in ONNX operators: (batch, places, each)."""
    return reshaped(g, transposed(g, x, 0, 2, 3, 1), 0, UNKNOWN, each)


def pixel_boxes_onnx(g: OnnxGraph, boxes: str, codes: str, height: str, width: str) -> str:
    """Write `pixel_boxes` in ONNX operators, for anchors that include their last pixel."""
    decoded = decode_onnx(g, pb.PriorBoxParameter.CENTER_SIZE, codes, boxes)
    most = g.node("Sub", g.node("Concat", width, height, width, height, axis=0), g.constant(1.0))
    return g.node("Max", g.node("Min", decoded, most), g.constant(0.0))


def large_onnx(g: OnnxGraph, boxes: str, least: str) -> str:
    """Return which boxes are at least `least` pixels long on both sides: (batch, places)."""
    sides = g.node("Sub", part(g, boxes, -1, 2, 4), part(g, boxes, -1, 0, 2))
    enough = g.node("GreaterOrEqual", g.node("Add", sides, g.constant(1.0)), least)
    return g.node("Cast", reduced(g, "ReduceMin", g.to_float(enough), [-1], keep=False), to=9)


def sample(mask: Tensor, count: int) -> Tensor:
    """Return at most `count` random places where a mask is true."""
    places = mask.nonzero()[:, 0]
    if len(places) > count:
        places = places[torch.randperm(len(places), device=mask.device)[:count]]
    return places


def drawn(mask: Tensor, count: Tensor | int) -> Tensor:
    """Return the mask with at most `count` random true places. This never waits for a GPU."""
    order = torch.rand(mask.shape, device=mask.device).masked_fill_(~mask, 2).argsort()
    first = torch.arange(len(mask), device=mask.device) < count
    return mask & torch.zeros_like(mask).scatter_(0, order, first)
