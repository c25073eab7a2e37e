"""BoxAnnotatorOHEM: R-FCN learns from the regions with the largest losses only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import NotDeployed, Shape
from netdsl.layer.samples import BlobKind
from netdsl.layers._boxes import best_first


class BoxAnnotatorOHEM(NotDeployed):
    """Labels and box weights of the `roi_per_img` worst regions of each image; others are ignored and weigh nothing.

    Bottoms are regions, of which only the image's index is read, their losses, labels, and box weights.
    """

    config = pb.BoxAnnotatorOHEMParameter
    bottoms = (4, 4)
    tops = (2, 2)
    no_gradient = (0, 1, 2, 3)
    bottom_kinds = (BlobKind.REGION,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.count = layer.box_annotator_ohem_param.roi_per_img
        self.ignored = layer.box_annotator_ohem_param.ignore_label
        if self.count < 1:
            raise NetError("roi_per_img must be 1 or more")
        regions, losses, labels, weights = (_four(shape) for shape in bottoms)
        if regions[1] != 5:
            raise ShapeError(f"a region is (image, x1, y1, x2, y2), but the first bottom has {regions[1]} channels")
        places = (regions[0], 1, *regions[2:])
        if not places == losses == labels == (weights[0], 1, *weights[2:]):
            raise ShapeError(f"all bottoms need the same regions, not {', '.join(str(list(b)) for b in bottoms)}")

    def forward(self, regions: Tensor, losses: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        shape, channels = _four(regions.shape), _four(weights.shape)[1]
        places = (shape[0], 1, *shape[2:])
        order, rank = best_first(regions.reshape(shape)[:, 0].flatten().long(), losses.flatten())
        chosen = torch.empty_like(rank, dtype=torch.bool).scatter(0, order, rank < self.count).reshape(places)
        labels = torch.where(chosen, labels.reshape(places), self.ignored)
        return labels, torch.where(chosen, weights.reshape(shape[0], channels, *shape[2:]), 0)


def _four(shape: Shape) -> Shape:
    """Caffe's rule: axes that are missing are 1 long."""
    if math.prod(shape[4:]) != 1:
        raise ShapeError(f"needs bottoms of at most 4 axes, not {list(shape)}")
    return (*shape, *(1,) * 4)[:4]
