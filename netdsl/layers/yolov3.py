"""Yolov3: the loss of YOLOv3."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Loss, Shape
from netdsl.layers._constants import constants
from netdsl.layers._loss import classes_of, stated, within
from netdsl.layers._yolo import (
    CIOU,
    DIOU,
    GIOU,
    boxes,
    cells,
    concentric,
    cropped,
    nearness,
    newest,
    pairs,
    per_anchor,
    slope,
    until_zero,
)

MSE = pb.Yolov3Parameter.MSE

At = tuple[Tensor, Tensor, Tensor, Tensor]  # item, anchor, row and column of each match


class Yolov3(Loss):
    """Computes the sum of squares of darknet's gradient: objectness everywhere, and box and classes at matched anchors.

    A truth matches the anchor whose size fits best, and each other anchor that fits better than `iou_thresh`. Only
    anchors in `mask` count. A label has rows of class, x, y, width and height, and ends at the first zero. With an
    `iou_loss` other than MSE, the boxes' part is their distance from the truths.
    """

    config = pb.Yolov3Parameter
    bottoms = (2, 2)
    no_gradient = (1,)
    waits = "matches truths whose number depends on the labels"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.settings = p = layer.yolov3_param
        if len(p.biases) % 2 or not p.biases or len(p.mask) < p.num or max(p.mask, default=0) >= len(p.biases) // 2:
            raise NetError(
                f"biases must have a width and a height for each anchor, and mask must name the {p.num} anchors "
                "that the layer uses; number them from 0, in the order of the biases"
            )
        channels = p.num * (5 + p.num_class)
        if len(bottoms[0]) != 4 or bottoms[0][1] != channels:
            raise ShapeError(
                f"the bottom must have {channels} channels for {p.num} boxes, not {list(bottoms[0])}; set "
                "num_output of the layer before it"
            )
        if bottoms[1][-1] % 5:
            raise ShapeError(
                f"the labels must have rows of 5 numbers, but the last axis has length {bottoms[1][-1]}; "
                "connect the top `label` of a data layer for boxes"
            )
        self.mask = list(p.mask[: p.num])

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [()]

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        with torch.no_grad():
            raw = per_anchor(x, self.settings.num)
            difference, far = self._difference(raw, label)
            loss = difference.square() if self.settings.iou_loss == MSE else difference[:, :, 4:].square()
            total = (loss.sum() + far) / len(x)
            gradient = self._through_activations(raw, difference) / len(x)
        return stated(x, total, gradient.view_as(x))

    def _difference(self, raw: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradient, and the mean distance of the boxes from their truths."""
        p = self.settings
        height, width = raw.shape[3:]
        anchors = pairs(p.biases, raw) / constants([width * p.anchors_scale, height * p.anchors_scale], raw)
        truths = label.reshape(len(raw), -1, 5)
        seen, used = until_zero(truths[..., 1]), until_zero(truths[..., 3])
        truths = cropped(truths, seen | used)
        seen, used = seen[:, : truths.shape[1]], used[:, : truths.shape[1]]
        predicted = boxes(raw[:, :, :2].sigmoid(), raw[:, :, 2:4], anchors[self.mask])
        difference = torch.zeros_like(raw)
        difference[:, :, 4] = self._background(raw[:, :, 4].sigmoid(), predicted, truths, seen)
        at, truth = self._matches(anchors, truths, used, height, width)
        far = self._towards(difference, raw, predicted, anchors, at, truth)
        return difference, far

    def _background(self, score: Tensor, predicted: Tensor, truths: Tensor, used: Tensor) -> Tensor:
        near = nearness(predicted.flatten(1, 3)[:, :, None], truths[:, None, :, 1:], self.settings.iou_loss)
        good = near.where(used[:, None], 0).amax(2).view_as(score) > self.settings.thresh
        return score.where(~good, 0)

    def _matches(self, anchors: Tensor, truths: Tensor, used: Tensor, height: int, width: int) -> tuple[At, Tensor]:
        """Return all matches in darknet's order: by truth, with the best anchor first and then the others that fit."""
        p = self.settings
        fit = nearness(concentric(anchors), concentric(truths[:, :, None, 3:]), p.iou_loss)
        best_fit, best = fit.amax(2), fit.argmax(2)  # the first of equal ones
        places = [self.mask.index(anchor) if anchor in self.mask else -1 for anchor in range(len(anchors))]
        own = constants(places, best)
        place = own[best].where(best_fit > 0, -1)
        # Caffe's rule: the other anchors are compared with the best anchor's index in the mask, not with the anchor.
        best = place.where(place >= 0, best.where(best_fit > 0, -1))
        which = constants(sorted(set(self.mask)), best)
        fits = (which != best[..., None]) & (fit[..., which] > p.iou_thresh)
        valid = torch.cat([(place >= 0)[..., None], fits], 2) & used[..., None]
        item, rank, slot = valid.nonzero(as_tuple=True)
        anchor = torch.cat([place[..., None], own[which].expand_as(fits)], 2)[item, rank, slot]
        truth = truths[item, rank]
        return (item, anchor, *cells(truth[:, 1:], height, width)), truth

    def _towards(
        self, difference: Tensor, raw: Tensor, predicted: Tensor, anchors: Tensor, at: At, truth: Tensor
    ) -> Tensor:
        """Write the gradient at the matches. Returns the mean distance of the boxes from their truths."""
        p = self.settings
        item, anchor, row, column = at
        keys = ((item * p.num + anchor) * raw.shape[3] + row) * raw.shape[4] + column
        last, first = newest(keys, predicted[..., 0].numel()), newest(keys.flip(0), predicted[..., 0].numel()).flip(0)
        box, prediction = predicted[item, anchor, row, column], raw[item, anchor, :, row, column]
        if p.iou_loss == MSE:
            step = self._missing(prediction, anchors[self.mask][anchor], at, truth, raw)
        else:
            step = self._nearer(prediction, box, truth)
        add = p.iou_loss != MSE and p.accumulate
        kept = torch.ones_like(last) if add else last
        where = tuple(index[kept] for index in at)
        difference[:, :, :4].permute(0, 1, 3, 4, 2).index_put_(where, step[kept], accumulate=add)
        score = prediction[:, 4].sigmoid()
        difference[item, anchor, 4, row, column] = (score - 1) * (p.object_scale if p.use_logic_gradient else 1)
        self._classes(difference, prediction[:, 5:].sigmoid(), at, self._labels(truth), first)
        if p.iou_loss == MSE or not len(truth):
            return raw.new_zeros(())
        kind = p.iou_loss if p.iou_loss in (GIOU, CIOU) else DIOU
        return p.iou_normalizer * (1 - nearness(box, truth[:, 1:], kind)).mean()

    def _missing(self, raw: Tensor, anchors: Tensor, at: At, truth: Tensor, grid: Tensor) -> Tensor:
        *_, row, column = at
        height, width = grid.shape[3:]
        cell = torch.stack([column, row], 1)
        place = truth[:, 1:3] * constants([width, height], raw) - cell - raw[:, :2].sigmoid()
        size = (truth[:, 3:] / anchors).log() - raw[:, 2:4]
        weight = self.settings.coord_scale * (2 - truth[:, 3:].prod(1, keepdim=True))
        return -weight * torch.cat([place, size], 1)

    def _nearer(self, raw: Tensor, box: Tensor, truth: Tensor) -> Tensor:
        p = self.settings
        step = slope(box, truth[:, 1:], p.iou_loss)
        step = torch.cat([step[:, :2], step[:, 2:] * raw[:, 2:4].exp()], 1) * p.iou_normalizer
        return -step.nan_to_num(0, 0, 0).clamp(-p.max_delta, p.max_delta)

    def _labels(self, truth: Tensor) -> Tensor:
        return within(classes_of(truth[:, 0], self.layer), self.settings.num_class, "raise num_class")

    def _classes(self, difference: Tensor, score: Tensor, at: At, label: Tensor, first: Tensor) -> None:
        """Write the gradient of the classes.

        Darknet's rule: the first truth of a box sets all classes, later ones only their own.
        """
        p = self.settings
        one_hot = (torch.arange(p.num_class, device=score.device) == label[:, None]).to(score.dtype)
        step = -p.class_scale * (one_hot * (1 - p.label_smooth_eps) + 0.5 * p.label_smooth_eps - score)
        own = step.gather(1, label[:, None]).squeeze(1)
        if p.use_focal_loss:
            sure = score.gather(1, label[:, None]) + 1e-15
            focus = -(1 - sure) * (2 * sure * sure.log() + sure - 1)
            step = -p.class_scale * (one_hot - score) * 0.5 * focus
        step = step.nan_to_num(0, 0, 0)
        classes = difference[:, :, 5:].permute(0, 1, 3, 4, 2)
        classes.index_put_(tuple(index[first] for index in at), step[first])
        classes.index_put_(tuple(index[~first] for index in (*at, label)), own[~first].nan_to_num(0, 0, 0))

    def _through_activations(self, raw: Tensor, difference: Tensor) -> Tensor:
        """Return the gradient of the raw values.

        With `use_logic_gradient`, it passes through the sigmoids, which width and height lack.
        """
        if not self.settings.use_logic_gradient:
            return difference
        score = raw.sigmoid()
        if self.settings.iou_loss != MSE:
            score[:, :, :2] = raw[:, :, :2]  # Caffe's rule: this uses the raw values
        through = score * (1 - score)
        through[:, :, 2:4] = 1
        return difference * through
