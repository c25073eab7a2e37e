"""RegionLoss: the loss of YOLOv2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Loss, Shape
from netdsl.layers._loss import classes_of, stated
from netdsl.layers._matching import Objects
from netdsl.layers._settings import refuse
from netdsl.layers._yolo import (
    boxes,
    cells,
    concentric,
    cropped,
    from_corners,
    iou,
    newest,
    pairs,
    per_anchor,
    until_zero,
)

_COORDS = 4


class _Match(NamedTuple):
    """Truths with the position that must predict each of them: item, anchor, row, column."""

    at: tuple[Tensor, Tensor, Tensor, Tensor]
    truth: Tensor  # class, x, y, width, height


class RegionLoss(Loss):
    """Computes the sum of squares of darknet's gradient: objectness everywhere, and box and class at matched anchors.

    Labels with rows of five (class, x, y, width, height, until a zero) are MobileNet-YOLO's. Labels with rows of eight,
    as in SSD's data layer, are Intel's, which has different formulas: the boxes' gradient is clipped as in a smooth L1
    loss, objectness is focal, and the loss isn't divided by the batch size.
    """

    config = pb.RegionLossParameter
    bottoms = (2, 2)
    no_gradient = (1,)
    waits = "matches truths whose number depends on the labels"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.settings = p = layer.region_loss_param
        refuse(p, "class_map", "softmax_tree")
        if p.coords != _COORDS or len(p.biases) != 2 * p.num:
            raise NetError(
                f"coords must be 4, with {2 * p.num} biases: a width and a height for each of {p.num} boxes; "
                "set coords: 4, and write that many biases"
            )
        channels = p.num * (5 + p.num_class)
        if len(bottoms[0]) != 4 or bottoms[0][1] != channels or bottoms[0][2] != bottoms[0][3]:
            raise ShapeError(
                f"the bottom must be square with {channels} channels, not {list(bottoms[0])}; set num_output of the "
                "layer before it"
            )
        self.intel = bottoms[1][-1] == 8
        if not self.intel and bottoms[1][-1] % 5:
            raise ShapeError(
                f"the labels must have rows of 5 or 8 numbers, but the last axis has length {bottoms[1][-1]}; "
                "connect the top `label` of a data layer for boxes"
            )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [()]

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        with torch.no_grad():
            difference = self._difference(x, label)
            loss = difference.square().sum() / (1 if self.intel else len(x))
        return stated(x, loss, difference.view_as(x) / len(x))

    def _difference(self, x: Tensor, label: Tensor) -> Tensor:
        p = self.settings
        raw = per_anchor(x, p.num)
        anchors = pairs(p.biases, x) / x.shape[3]
        predicted = boxes(raw[:, :, :2].sigmoid(), raw[:, :, 2:4], anchors)
        truths, used = _of_items(label, len(x), self.layer) if self.intel else _of_rows(label, len(x))
        difference = torch.zeros_like(raw)
        difference[:, :, 4] = self._background(raw[:, :, 4].sigmoid(), predicted, truths, used[0])
        match = self._match(predicted, anchors, truths, used[1])
        item, anchor, row, column = match.at
        prediction, box = raw[item, anchor, :, row, column], predicted[item, anchor, row, column]
        difference[item, anchor, :, row, column] = self._towards(prediction, box, anchors[anchor], match, x.shape[3])
        return difference

    def _background(self, score: Tensor, predicted: Tensor, truths: Tensor, used: Tensor) -> Tensor:
        overlap = iou(predicted.flatten(1, 3)[:, :, None], truths[:, None, :, 1:]).where(used[:, None], 0)
        good = overlap.amax(2).view_as(score) > self.settings.thresh
        return (self.settings.noobject_scale * score.square() * (1 - score)).where(~good, 0)

    def _match(self, predicted: Tensor, anchors: Tensor, truths: Tensor, used: Tensor) -> _Match:
        """Return the match of each truth. The last truth wins if several have the same anchor of the same cell."""
        side, p = predicted.shape[2], self.settings
        item, rank = used.nonzero(as_tuple=True)
        truth = truths[item, rank]
        row, column = cells(truth[:, 1:], side, side)
        sizes = anchors.expand(len(item), -1, -1) if p.bias_match else predicted[item, :, row, column, 2:]
        anchor = iou(concentric(sizes), concentric(truth[:, None, 3:])).argmax(1)
        keys = ((item * p.num + anchor) * side + row) * side + column
        kept = newest(keys, predicted[..., 0].numel())
        return _Match((item[kept], anchor[kept], row[kept], column[kept]), truth[kept])

    def _towards(self, raw: Tensor, box: Tensor, anchors: Tensor, match: _Match, side: int) -> Tensor:
        """Return the gradient at each match, one row for each."""
        p, truth = self.settings, match.truth
        rescored = iou(box, truth[:, 1:])
        score, classes = raw[:, 4].sigmoid(), raw[:, 5:].softmax(1)
        if self.intel:
            objectness = -p.object_scale * 2 * (1 - score).pow(3) * score * (1 - score)
        else:
            goal = rescored if p.rescore else torch.ones_like(score)
            objectness = -p.object_scale * (goal - score) * score * (1 - score)
        one_hot = torch.arange(p.num_class, device=raw.device) == classes_of(truth[:, :1], self.layer)
        of_classes = p.class_scale * (classes - one_hot.to(raw.dtype))
        return torch.cat([self._box(raw, anchors, match, side), objectness[:, None], of_classes], 1)

    def _box(self, raw: Tensor, anchors: Tensor, match: _Match, side: int) -> Tensor:
        p, truth = self.settings, match.truth
        *_, row, column = match.at
        place = raw[:, :2].sigmoid()
        missing_place = truth[:, 1:3] * side - torch.stack([column, row], 1) - place
        missing_size = (truth[:, 3:] / anchors).log() - raw[:, 2:4]
        if self.intel:
            missing_size = missing_size.clamp(-1, 1)  # the differences of positions are always smaller than 1
        small_more = not self.intel and not p.rescore
        weight = 2 - truth[:, 3:].prod(1, keepdim=True) if small_more else torch.ones_like(truth[:, :1])
        return -p.coord_scale * weight * torch.cat([missing_place * place * (1 - place), missing_size], 1)


def _of_rows(label: Tensor, items: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return truths (N, T, 5) from rows of five, and which rows count.

    Rows count until one whose x is 0, or for matching until one whose width is 0.
    """
    truths = label.reshape(items, -1, 5)
    used = until_zero(truths[..., 1]), until_zero(truths[..., 3])
    truths = cropped(truths, used[0] | used[1])
    return truths, (used[0][:, : truths.shape[1]], used[1][:, : truths.shape[1]])


def _of_items(label: Tensor, items: int, layer: pb.LayerParameter) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return truths (N, T, 5) from SSD's rows, whose classes start at 1, and which rows count."""
    objects = Objects.of(label, items, -1, layer, difficult=True)
    truths = torch.cat(((objects.labels[..., None] - 1).to(label.dtype), from_corners(objects.boxes)), -1)
    return truths, (objects.valid, objects.valid)
