"""MultiStageMeanfield: CRF-RNN's conditional random field, as a number of mean-field iterations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape, new_blob
from netdsl.layer.running import NeedsValues, not_compiled
from netdsl.layer.samples import BlobKind
from netdsl.layers._permutohedral import Lattice, blurred

_COLORS = 3
_TINY = 1e-20  # prevents division by 0
_BLURRED = 30  # products for each value of a step, in both lattices


class MultiStageMeanfield(NeedsValues, Layer):
    """Refines the scores of each pixel by those of nearby pixels, above all pixels of similar color.

    The bottoms are a net's scores, the initial scores (usually the same ones) and the image. Each step blurs the
    probabilities over nearby pixels, and again over nearby pixels of similar color. Each result is multiplied by its
    weight matrix. Their sum is multiplied by the compatibility matrix and subtracted from the scores. The image gets no
    gradient.
    """

    config = pb.MultiStageMeanfieldParameter
    blobs = ("spatial_weights", "bilateral_weights", "compatibility")
    bottoms = (3, 3)
    no_gradient = (2,)
    bottom_kinds = (BlobKind.NUMBER,) * 3
    spatial_weights: nn.Parameter
    bilateral_weights: nn.Parameter
    compatibility: nn.Parameter
    waits = "builds a lattice whose size depends on the image's colors"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.multi_stage_meanfield_param
        _check_shapes(bottoms)
        if p.num_iterations < 2:
            raise NetError(f"num_iterations is {p.num_iterations}; set it to 2 or more")
        if min(p.theta_alpha, p.theta_beta, p.theta_gamma) <= 0:
            raise NetError("theta_alpha, theta_beta or theta_gamma isn't positive; set all of them to more than 0")
        self.steps, self.near, self.apart = p.num_iterations, p.theta_gamma, (p.theta_alpha, p.theta_beta)
        classes = bottoms[0][1]
        self.diagonals = (
            _diagonal(p.spatial_filter_weights_str, p.spatial_filter_weight, classes),
            _diagonal(p.bilateral_filter_weights_str, p.bilateral_filter_weight, classes),
            [-1.0] * classes,  # the Potts model, in which only equal classes interact
        )
        for name in self.blobs:
            setattr(self, name, new_blob(pb.FillerParameter(), (1, 1, classes, classes)))

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        """Also set the first values of the diagonals."""
        missing = {name for name in self.blobs if getattr(self, name).is_meta and id(getattr(self, name)) not in done}
        super().allocate(device, done)
        with torch.no_grad():
            for name, diagonal in zip(self.blobs, self.diagonals, strict=True):
                if name in missing:
                    getattr(self, name)[0, 0].copy_(torch.tensor(diagonal).diag())

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        _check_shapes(bottoms)
        return [bottoms[0]]

    def products(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return about how many products all steps compute."""
        return self.steps * (len(self.blobs) * bottoms[0][1] + _BLURRED) * math.prod(tops[0])

    @not_compiled
    def forward(self, scores: Tensor, first: Tensor, image: Tensor) -> Tensor:
        items = zip(scores, first, image.detach(), strict=True)
        return torch.stack([self._inferred(*item) for item in items])

    def _inferred(self, scores: Tensor, state: Tensor, image: Tensor) -> Tensor:
        """Return one item's scores after all steps."""
        unary, state = scores.flatten(1), state.flatten(1)
        places = _places(image)
        alpha, beta = self.apart
        colors = image[:_COLORS].flatten(1).T
        spatial = _Kernel(places / self.near, unary)
        bilateral = _Kernel(torch.cat((places / alpha, colors / beta), 1), unary)
        for _ in range(self.steps):
            chances = state.softmax(0)
            message = self.spatial_weights[0, 0] @ spatial(chances) + self.bilateral_weights[0, 0] @ bilateral(chances)
            state = unary - self.compatibility[0, 0] @ message
        return state.view_as(scores)


class _Kernel:
    """A blur over points with some features. The weights add up to 1 for each point."""

    def __init__(self, features: Tensor, like: Tensor) -> None:
        self.lattice = Lattice.of(features)
        self.scale = 1 / (self.lattice.blur(torch.ones_like(like[:1])) + _TINY)

    def __call__(self, values: Tensor) -> Tensor:
        return blurred(values, self.lattice) * self.scale


def _places(image: Tensor) -> Tensor:
    """Return the column and row of each pixel."""
    rows, columns = (torch.arange(length, device=image.device, dtype=torch.float32) for length in image.shape[1:])
    return torch.stack((columns.repeat(len(rows)), rows.repeat_interleave(len(columns))), 1)


def _check_shapes(bottoms: Sequence[Shape]) -> None:
    scores, first, image = bottoms
    if len(scores) != 4 or len(image) != 4:
        raise ShapeError(
            "scores and image must have 4 axes; connect the class scores of a convolution and the image itself"
        )
    if scores != first:
        raise ShapeError(
            f"the first two bottoms must have the same shape, not {list(scores)} and {list(first)}; connect bottoms "
            "of one shape"
        )
    if (image[0], *image[2:]) != (scores[0], *scores[2:]) or image[1] < _COLORS:
        raise ShapeError(
            f"the image must be as large as the scores {list(scores)} and have 3 colors, but its shape is "
            f"{list(image)}; connect the image that the scores are for, or resize the scores with Interp or "
            "Deconvolution"
        )


def _diagonal(text: str, value: float, classes: int) -> list[float]:
    """Return the numbers in a text, one for each class. If the text is empty, return the same value for all."""
    if not text:
        return [value] * classes
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        raise NetError(
            f"the filter weights {text!r} aren't a list of numbers with spaces between them; write one number "
            "for each class, as in 3 3 3"
        ) from None
    if len(numbers) != classes:
        raise NetError(f"there are {len(numbers)} filter weights for {classes} classes; give one for each")
    return numbers
