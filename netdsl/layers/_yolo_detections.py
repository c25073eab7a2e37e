"""What YOLO's detection layers share: the boxes that are left of those that overlap."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from netdsl.layers._boxes import best_first, suppressed
from netdsl.layers._yolo import corners


def survivors(boxes: Tensor, scores: Tensor, item: Tensor, threshold: float) -> Tensor:
    """Indices of boxes that no better one of their item overlaps; by item, and in it from best to worst.

    Caffe's rule: a box that overlaps by just the threshold goes too.
    """
    below = float(np.nextafter(np.float32(threshold), np.float32(-1)))
    order, _ = best_first(item, scores)
    return order[suppressed(corners(boxes[order]), item[order], below)]


def rows(boxes: Tensor, scores: Tensor, labels: Tensor, wanted: Tensor, threshold: float) -> Tensor:
    """Item, label, score, left, top, right and bottom of every detection: (1, 1, count, 7).

    Boxes are (N, K, 4), the others (N, K). If there is no detection at all, every item has a row of -1 behind its
    number.
    """
    item = wanted.nonzero()[:, 0]
    kept = survivors(boxes[wanted], scores[wanted], item, threshold)
    if not len(kept):
        empty = boxes.new_full((1, 1, len(boxes), 7), -1)
        empty[..., 0] = torch.arange(len(boxes), device=boxes.device)
        return empty
    columns = torch.stack((item[kept].to(boxes.dtype), labels[wanted][kept].to(boxes.dtype), scores[wanted][kept]), 1)
    return torch.cat((columns, corners(boxes[wanted][kept])), 1)[None, None]
