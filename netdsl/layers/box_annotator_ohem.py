"""BoxAnnotatorOHEM: R-FCN's choice of the regions with the largest losses to learn from."""

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
    """Keeps the labels and box weights of the `roi_per_img` regions with the largest losses in each image.

    Other regions get the ignored label and a weight of 0. The bottoms are regions, losses, labels and box weights. Of
    the regions, only the image index is read.
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
            raise NetError(f"roi_per_img is {self.count}; set it to 1 or more")
        regions, losses, labels, weights = (_four(shape) for shape in bottoms)
        if regions[1] != 5:
            raise ShapeError(
                f"the first bottom must have regions of (image, x1, y1, x2, y2), but it has {regions[1]} "
                "channels; connect the regions that ROIPooling or PSROIPooling reads"
            )
        places = (regions[0], 1, *regions[2:])
        if not places == losses == labels == (weights[0], 1, *weights[2:]):
            raise ShapeError(
                "all bottoms must describe the same regions, but their shapes are "
                f"{', '.join(str(list(b)) for b in bottoms)}; connect the losses, labels and weights of these "
                "regions"
            )

    def forward(self, regions: Tensor, losses: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        shape, channels = _four(regions.shape), _four(weights.shape)[1]
        places = (shape[0], 1, *shape[2:])
        order, rank = best_first(regions.reshape(shape)[:, 0].flatten().long(), losses.flatten())
        chosen = torch.empty_like(rank, dtype=torch.bool).scatter(0, order, rank < self.count).reshape(places)
        labels = torch.where(chosen, labels.reshape(places), self.ignored)
        return labels, torch.where(chosen, weights.reshape(shape[0], channels, *shape[2:]), 0)


def _four(shape: Shape) -> Shape:
    """Return a shape with four axes. Caffe's rule: missing axes have length 1."""
    if math.prod(shape[4:]) != 1:
        raise ShapeError(
            f"the bottoms must have at most 4 axes, but one has shape {list(shape)}; change it with a Reshape layer"
        )
    return (*shape, *(1,) * 4)[:4]
