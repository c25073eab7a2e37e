"""What the layers of Faster R-CNN's region proposal network share: settings, anchors, boxes that count pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, part, reduced, reshaped, transposed
from netdsl.layer.target_units import TargetUnits
from netdsl.layers._boxes import decode, encode
from netdsl.layers._boxes_onnx import decode_onnx
from netdsl.layers._constants import constants
from netdsl.layers._param_str import read_param_str
from netdsl.layers._region_targets import Numbers, RegionSettings, per_row, with_settings

Anchor = tuple[float, float, float, float]


@dataclass(frozen=True)
class RpnSettings(RegionSettings):
    """py-faster-rcnn's own settings, under its names and with its defaults; param_str can set them too.

    R-FCN adds `rpn_normalize_targets`, for what anchors should predict.
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
        """The settings of a phase, changed by those that a layer's own settings name."""
        base = cls() if phase == pb.TRAIN else cls(rpn_pre_nms_top_n=6000, rpn_post_nms_top_n=300)
        return with_settings(base, settings)

    def anchor_units(self, anchors: int) -> TargetUnits | None:
        """The units of what anchors should predict."""
        if not self.rpn_normalize_targets:
            return None
        means = per_row("rpn_normalize_means", self.rpn_normalize_means, anchors)
        return TargetUnits(means, per_row("rpn_normalize_stds", self.rpn_normalize_stds, anchors))


def layer_settings(layer: pb.LayerParameter, *needed: str) -> dict[str, Any]:
    """The settings of a Python layer, of which some must be there."""
    settings = read_param_str(layer.python_param.param_str)
    for name in needed:
        if not isinstance(settings.get(name), int) or settings[name] < 1:
            raise NetError(f"param_str needs '{name}', a whole number from 1 on")
    return settings


def one_image(bottoms: Sequence[Shape]) -> None:
    """A ShapeError unless the first bottom is for one image."""
    if len(bottoms[0]) != 4 or bottoms[0][0] != 1:
        raise ShapeError(f"takes one image at a time, of shape (1, channels, height, width), not {list(bottoms[0])}")


def anchors(
    scales: Sequence[float],
    ratios: Sequence[float] = (0.5, 1, 2),
    base: int = 16,
    to_int: Callable[[float], int] = round,
) -> list[Anchor]:
    """Boxes around the first place of a feature map, by ratio and then scale. py-faster-rcnn rounds halves to even."""
    boxes = []
    for ratio in ratios:
        width = to_int(math.sqrt(base * base / ratio))
        height = to_int(width * ratio)
        for scale in scales:
            x, y = ((base - side * scale) / 2 for side in (width, height))
            boxes.append((x, y, base - 1 - x, base - 1 - y))
    return boxes


def placed(around: Sequence[Anchor], like: Tensor, stride: int) -> Tensor:
    """The anchors at every place of a feature map, by row, column and anchor."""
    y, x = (torch.arange(count, device=like.device) * stride for count in like.shape[-2:])
    corner = torch.stack((x.expand(len(y), -1), y[:, None].expand(-1, len(x))), -1)
    return (torch.cat((corner, corner), -1)[:, :, None] + constants(around, like)).reshape(-1, 4)


def by_place(x: Tensor, each: int) -> Tensor:
    """Predictions of one image, channels first, in the order of `placed` anchors."""
    return x.permute(1, 2, 0).reshape(-1, each)


def _inclusive(boxes: Tensor) -> Tensor:
    """Pixels are counted, so that a box goes to the end of its last pixel."""
    return boxes + constants((0, 0, 1, 1), boxes)


def pixel_targets(boxes: Tensor, objects: Tensor) -> Tensor:
    """What should be predicted for boxes that stand for objects."""
    return encode(pb.PriorBoxParameter.CENTER_SIZE, _inclusive(objects), _inclusive(boxes))


def pixel_boxes(boxes: Tensor, codes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Predicted boxes within the image. py-faster-rcnn's rule: they end one pixel later than they should."""
    decoded = decode(pb.PriorBoxParameter.CENTER_SIZE, codes, _inclusive(boxes))
    most = torch.stack((width, height, width, height)) - 1
    return decoded.minimum(most).clamp_min(0)


def placed_onnx(g: OnnxGraph, around: Sequence[Anchor], like: str, stride: int) -> str:
    """The anchors at every place of a feature map, whose last pixels are included."""
    size = torch.empty(g.length(like, 2), g.length(like, 3), device="cpu")
    return g.constant(_inclusive(placed(around, size, stride)).numpy())


def by_place_onnx(g: OnnxGraph, x: str, each: int) -> str:
    """Predictions of a batch, channels first, in the order of `placed` anchors: (batch, places, each)."""
    return reshaped(g, transposed(g, x, 0, 2, 3, 1), 0, UNKNOWN, each)


def pixel_boxes_onnx(g: OnnxGraph, boxes: str, codes: str, height: str, width: str) -> str:
    """Predicted boxes within the image, relative to anchors whose last pixels are included."""
    decoded = decode_onnx(g, pb.PriorBoxParameter.CENTER_SIZE, codes, boxes)
    most = g.node("Sub", g.node("Concat", width, height, width, height, axis=0), g.constant(1.0))
    return g.node("Max", g.node("Min", decoded, most), g.constant(0.0))


def large_onnx(g: OnnxGraph, boxes: str, least: str) -> str:
    """Which boxes are at least so large on both sides, in pixels: (batch, places)."""
    sides = g.node("Sub", part(g, boxes, -1, 2, 4), part(g, boxes, -1, 0, 2))
    enough = g.node("GreaterOrEqual", g.node("Add", sides, g.constant(1.0)), least)
    return g.node("Cast", reduced(g, "ReduceMin", g.to_float(enough), [-1], keep=False), to=9)


def sample(mask: Tensor, count: int) -> Tensor:
    """Of the places where a mask is true, at most `count` chosen by chance."""
    places = mask.nonzero()[:, 0]
    if len(places) > count:
        places = places[torch.randperm(len(places), device=mask.device)[:count]]
    return places


def drawn(mask: Tensor, count: Tensor | int) -> Tensor:
    """The same mask with at most `count` of its true places, chosen by chance and without a wait."""
    order = torch.rand(mask.shape, device=mask.device).masked_fill_(~mask, 2).argsort()
    first = torch.arange(len(mask), device=mask.device) < count
    return mask & torch.zeros_like(mask).scatter_(0, order, first)
