"""The layers that Caffe's backward pass runs, and the bottoms that get a gradient."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from netdsl.layer import Layer
from netdsl.pycaffe.blob_numbers import LayerBlobNumbers


@dataclass(frozen=True)
class GradientNeeds:
    """Whether the backward pass runs a layer, and which of its bottoms get a gradient."""

    layer: bool
    bottoms: tuple[bool, ...]


def gradient_needs(numbered_layers: list[LayerBlobNumbers], layers: list[Layer], *, force: bool) -> list[GradientNeeds]:
    """Caffe's rules: gradients are computed between losses and learned parameters, with `force` everywhere."""
    needs = _below_loss(numbered_layers, layers, _towards_learning(numbered_layers, layers))
    if force:
        needs = [GradientNeeds(True, (True,) * len(need.bottoms)) for need in needs]
    return [
        GradientNeeds(
            need.layer, tuple(needed and index not in layer.no_gradient for index, needed in enumerate(need.bottoms))
        )
        for need, layer in zip(needs, layers, strict=True)
    ]


def _towards_learning(numbered_layers: list[LayerBlobNumbers], layers: list[Layer]) -> list[GradientNeeds]:
    """The needs in forward order: a layer needs a gradient if it learns or reads a blob that needs one.

    `propagate_down` overrides this for each bottom.
    """
    needing: set[int] = set()
    needs = []
    for blobs, layer in zip(numbered_layers, layers, strict=True):
        bottom_needs = [blob in needing for blob in blobs.bottoms]
        layer_need = any(bottom_needs) or _learns(layer)
        needs.append(GradientNeeds(layer_need, tuple(layer.layer.propagate_down or bottom_needs)))
        if layer_need:
            needing.update(blobs.tops)
    return needs


def _below_loss(
    numbered_layers: list[LayerBlobNumbers], layers: list[Layer], before: list[GradientNeeds]
) -> list[GradientNeeds]:
    """The needs in backward order: only layers that a loss depends on, up to where all gradients are stopped."""
    counting: set[int] = set()
    stopped: set[int] = set()
    needs = []
    for blobs, layer, need in reversed(list(zip(numbered_layers, layers, before, strict=True))):
        counts = any(layer.loss_weights()) or not counting.isdisjoint(blobs.tops)
        skipped = need.layer and stopped.issuperset(blobs.tops)
        bottoms = tuple(needed and counts and not skipped for needed in need.bottoms)
        if counts:
            counting.update(blobs.bottoms)
        stopped.update(blob for blob, needed in zip(blobs.bottoms, bottoms, strict=True) if not needed)
        needs.append(GradientNeeds(need.layer and counts and not skipped, bottoms))
    return needs[::-1]


def _learns(layer: Layer) -> bool:
    owned = (layer.owner_of(name) for name in layer.blob_names())
    return any(isinstance(tensor, nn.Parameter) and tensor.requires_grad for tensor in owned)
