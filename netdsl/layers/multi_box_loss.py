"""MultiBoxLoss: SSD's loss for the locations and classes of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind
from netdsl.layers._boxes import decode, encode, prior_boxes
from netdsl.layers._loss import LabelLoss, Normalizer, cut_off, smooth_l1, weighed, within
from netdsl.layers._matching import Matching, Objects, Suppression, hardest
from netdsl.layers._settings import refuse
from netdsl.layers.detection_output import check_predictions

_LEAST = math.log(torch.finfo(torch.float32).tiny)  # Caffe's smallest probability, FLT_MIN


@dataclass(frozen=True)
class _Batch:
    codes: Tensor  # images x boxes x kinds x 4
    scores: Tensor  # images x boxes x classes
    boxes: Tensor  # boxes x 4
    variances: Tensor
    objects: Objects


class MultiBoxLoss(LabelLoss):
    """Computes the location loss of matched boxes plus the confidence loss of these and of hard negative boxes.

    The bottoms are locations, scores, priors, and objects in AnnotatedData's rows.
    """

    config = pb.MultiBoxLossParameter
    bottoms = (4, 4)
    no_gradient = (2, 3)
    bottom_kinds = (BlobKind.BOX_CODE, BlobKind.NUMBER, BlobKind.PRIORS, BlobKind.OBJECT)
    predictions = (0, 1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = self.settings = layer.multibox_loss_param
        refuse(p, "ignore_difficult_gt", "objectness_score")
        _check_settings(p)
        self.mines = p.mining_type != p.NONE
        self.kinds = 1 if p.share_location else p.num_classes
        self.matching = Matching(p.match_type == p.PER_PREDICTION, p.overlap_threshold, p.ignore_cross_boundary_bbox)
        self.suppression = Suppression.of(p)
        self.normalizer = Normalizer.of(layer.loss_param)
        self.counts = list(layer.propagate_down[:2]) or [True, True]
        check_predictions(bottoms, self.kinds, p.num_classes)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_predictions(bottoms, self.kinds, self.settings.num_classes)
        return [()]

    def forward(self, locations: Tensor, scores: Tensor, priors: Tensor, rows: Tensor) -> Tensor:
        """Return the loss. Caffe's rule: if `propagate_down` excludes a bottom, its part of the loss isn't counted."""
        p, images = self.settings, len(locations)
        boxes, variances = prior_boxes(priors)
        batch = _Batch(
            locations.reshape(images, len(boxes), self.kinds, 4),
            scores.reshape(images, len(boxes), p.num_classes),
            boxes,
            variances,
            Objects.of(rows, images, p.background_label_id, self.layer, difficult=p.use_difficult_gt),
        )
        if not p.map_object_to_agnostic:
            within(batch.objects.labels, p.num_classes, "raise num_classes")
        with torch.no_grad():
            matches, most = self._matches(batch)
            if self.mines:
                matches, used = self._mined(batch, matches, most)
            else:
                used = torch.ones_like(most, dtype=torch.bool)
        parts = [scores.new_zeros(())]
        if self.counts[0]:
            parts.append(p.loc_weight * self._location_losses(batch, matches).sum())
        if self.counts[1]:
            parts.append(self._confidence_loss(batch, matches, used))
        return torch.stack(parts).sum() / self.normalizer(images, len(boxes), matches >= 0)

    def _matches(self, batch: _Batch) -> tuple[Tensor, Tensor]:
        """Return the object's slot for each image, box and kind of location, and the largest overlap of each box."""
        p, objects = self.settings, batch.objects
        kinds = [label for label in range(self.kinds) if self.kinds == 1 or label != p.background_label_id]
        matches = torch.full(batch.codes.shape[:3], -1, dtype=torch.long, device=batch.codes.device)
        if p.use_prior_for_matching:
            nearest, most = self.matching(batch.boxes[None], objects)
            labels = objects.labels.gather(1, nearest.clamp_min(0))
            for kind in kinds:
                matches[:, :, kind] = nearest if self.kinds == 1 else torch.where(labels == kind, nearest, -1)
            return matches, most
        most = torch.zeros_like(batch.scores[..., 0])
        decoded = self._decoded(batch.codes, batch.boxes[:, None], batch.variances[:, None])
        for kind in kinds:
            candidates = objects if self.kinds == 1 else objects.of_class(kind)
            matches[:, :, kind], most = self.matching(decoded[:, :, kind], candidates)
        return matches, most

    def _decoded(self, codes: Tensor, boxes: Tensor, variances: Tensor) -> Tensor:
        p = self.settings
        return decode(p.code_type, codes.detach(), boxes, None if p.encode_variance_in_target else variances)

    def _mined(self, batch: _Batch, matches: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        """Return the remaining matches, and which boxes have a confidence loss."""
        p, match = self.settings, matches[..., 0]
        eligible = batch.objects.valid.any(1, keepdim=True).expand_as(match)
        losses = self._confidence_losses(batch.scores, self._labels(batch.objects, matches))
        if p.mining_type == p.MAX_NEGATIVE:
            eligible = eligible & (match == -1) & (most < p.neg_overlap)
            count = ((match >= 0).sum(1).float() * p.neg_pos_ratio).long()
        else:
            count = torch.full_like(match[:, 0], p.sample_size)
            losses = losses + self._location_losses(batch, matches)[..., 0]
        boxes = batch.boxes
        if not p.use_prior_for_nms:
            boxes = self._decoded(batch.codes[:, :, 0], boxes, batch.variances)
        chosen = hardest(losses, eligible, count, boxes, self.suppression)
        if p.mining_type == p.MAX_NEGATIVE:
            return matches, (match >= 0) | chosen
        return torch.where((match >= 0) & ~chosen, -1, match)[..., None], chosen & (match != -2)

    def _location_losses(self, batch: _Batch, matches: Tensor) -> Tensor:
        """Return the location loss of each match, with 0 for unmatched boxes, so that counting them isn't necessary."""
        p, matched = self.settings, (matches >= 0)[..., None]
        codes, prior, variance = batch.codes, batch.boxes[:, None], batch.variances[:, None]
        image = torch.arange(len(codes), device=codes.device)[:, None, None]
        target = batch.objects.boxes[image, matches.clamp_min(0)].where(matched, prior)
        target_codes = encode(p.code_type, target, prior, None if p.encode_variance_in_target else variance)
        if p.bp_inside:
            shown = prior if p.use_prior_for_matching else self._decoded(codes, prior, variance)
            matched = matched & (shown >= 0) & (shown <= 1)
        difference = codes - target_codes.where(matched, codes.detach())
        if p.encode_variance_in_target:
            difference = weighed(difference, (1 / variance).expand_as(difference))
        return (difference.square() / 2 if p.loc_loss_type == p.L2 else smooth_l1(difference)).sum(-1)

    def _labels(self, objects: Objects, matches: Tensor) -> Tensor:
        """Return the target label of each box. Among several, the last one counts."""
        p = self.settings
        labels = objects.labels.gather(1, matches.clamp_min(0).flatten(1)).view_as(matches)
        if p.map_object_to_agnostic:
            labels = torch.full_like(labels, p.background_label_id + 1)
        labels = torch.where(matches >= 0, labels, -1).amax(2)
        return torch.where(labels >= 0, labels, p.background_label_id)

    def _confidence_losses(self, scores: Tensor, labels: Tensor, others: float = 0) -> Tensor:
        """Return the confidence loss of each box. `others` is the logistic loss's target for the other classes."""
        if self.settings.conf_loss_type == self.settings.SOFTMAX:
            return -cut_off(F.log_softmax(scores, -1).gather(-1, labels[..., None])[..., 0], least=_LEAST)
        own = torch.arange(scores.shape[-1], device=scores.device) == labels[..., None]
        return _logistic(scores, torch.where(own, 1.0, others).to(scores)).sum(-1)

    def _confidence_loss(self, batch: _Batch, matches: Tensor, used: Tensor) -> Tensor:
        p, scores = self.settings, batch.scores
        labels = self._labels(batch.objects, matches)
        if self.mines or p.conf_loss_type == p.SOFTMAX:
            return self._confidence_losses(scores, labels, p.background_label_id).where(used, 0).sum()
        # Caffe's rule: without mining, each image's targets start one number of boxes after those of the previous
        # image.
        image = torch.arange(len(scores), device=scores.device)[:, None, None]
        label = batch.objects.labels[image, matches.clamp_min(0)]
        label = torch.full_like(label, p.background_label_id + 1) if p.map_object_to_agnostic else label
        box = torch.arange(scores.shape[1], device=scores.device)[:, None]
        at = (image * scores.shape[1] + box * scores.shape[2] + label).where(matches >= 0, scores.numel())
        one_hot = scores.new_full((scores.numel() + 1,), p.background_label_id).scatter_(0, at.flatten(), 1)
        return _logistic(scores, one_hot[:-1].view_as(scores)).sum()


def _logistic(scores: Tensor, one_hot: Tensor) -> Tensor:
    return scores.clamp_min(0) - scores * one_hot + F.softplus(-scores.abs())


def _check_settings(p: pb.MultiBoxLossParameter) -> None:
    if not p.num_classes:
        raise NetError("num_classes is missing; set it to the number of classes with the background")
    if p.conf_loss_type == p.SOFTMAX and p.background_label_id >= p.num_classes:
        raise NetError(
            f"background_label_id {p.background_label_id} isn't among the {p.num_classes} classes; set it to a "
            f"number from 0 to {p.num_classes - 1}"
        )
    if p.mining_type != p.NONE and not p.share_location:
        raise NetError("mining needs share_location; set share_location: true or mining_type: NONE")
    if p.HasField("do_neg_mining") and p.do_neg_mining != (p.mining_type != p.NONE):
        raise NetError("do_neg_mining contradicts mining_type; remove do_neg_mining")
    if p.map_object_to_agnostic and p.num_classes != 2:
        raise NetError(
            "map_object_to_agnostic needs num_classes: 2, for the background and an object; set num_classes: 2, or "
            "remove map_object_to_agnostic"
        )
    if p.mining_type == p.HARD_EXAMPLE and p.sample_size < 1:
        raise NetError(f"sample_size is {p.sample_size}; set it to 1 or more")
