"""Converts weights to the form for use. Layers that learned normalized targets then predict in the original units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from netdsl.errors import NetError
from netdsl.layer import Layer, Loss
from netdsl.layer.tops import NormalizesTargets, TargetUnits
from netdsl.net.build import Built, at_layer
from netdsl.net.graph import Node


@dataclass(frozen=True)
class NormalizedOutput:
    """A layer that learned normalized targets. Its blobs are weights and biases.

    `means` and `deviations` contain a number for each of its outputs.
    """

    name: str
    layer: Layer
    means: Tensor
    deviations: Tensor

    @property
    def blobs(self) -> tuple[Tensor, Tensor]:
        """The weights and the biases."""
        weight, bias = (tensor.detach() for tensor in self.layer.blob_tensors())
        return weight, bias

    def to_use(self) -> None:
        """Convert the weights so that they predict in the original units."""
        weight, bias = self.blobs
        weight.mul_(_per_output(self.deviations, weight))
        bias.mul_(self.deviations.to(bias)).add_(self.means.to(bias))

    def to_train(self) -> None:
        """Convert weights in the form for use back to the units of their targets, except for rounding."""
        weight, bias = self.blobs
        weight.div_(_per_output(self.deviations, weight))
        bias.sub_(self.means.to(bias)).div_(self.deviations.to(bias))


def _per_output(values: Tensor, weight: Tensor) -> Tensor:
    return values.to(weight).reshape(-1, *[1] * (weight.dim() - 1))


def normalized_outputs(built: Built) -> list[NormalizedOutput]:
    """Return the layers of a net whose weights must be converted for use."""
    outputs: dict[str, NormalizedOutput] = {}
    for node, layer in built.pairs():
        if not isinstance(layer, NormalizesTargets) or (units := layer.target_units()) is None:
            continue
        with at_layer(node.layer):
            for learner, learning in _learners(built, node.tops[layer.targets_top]):
                outputs[learner.layer.name] = _output(learner, learning, units)
    return list(outputs.values())


def _learners(built: Built, targets: int) -> Iterator[tuple[Node, Layer]]:
    """Yield the layers whose outputs are compared with targets. Layers in between must keep the order of channels."""
    makers = {edge: pair for pair in built.pairs() for edge in pair[0].tops}
    for node, layer in built.pairs():
        if not isinstance(layer, Loss) or targets not in node.bottoms:
            continue
        edge = node.bottoms[layer.predictions[0]]
        while edge in makers and makers[edge][0].bottoms and not makers[edge][1].blob_names():
            edge = makers[edge][0].bottoms[0]
        if edge in makers and makers[edge][1].blob_names():
            yield makers[edge]


def _output(node: Node, layer: Layer, units: TargetUnits) -> NormalizedOutput:
    """Return the weights of a layer. The number of its outputs must be a multiple of the units' number of values."""
    blobs = list(layer.blob_tensors())
    means, deviations = (torch.tensor(rows).flatten() for rows in (units.means, units.deviations))
    if len(blobs) != 2 or len(blobs[0]) != len(blobs[1]) or len(blobs[1]) % len(means):
        raise NetError(
            f"layer '{node.layer.name}' learns targets normalized by {len(means)} numbers, but its weights "
            "can't be converted for use; give it a bias and a matching number of outputs, or set "
            "bbox_normalize_targets to False"
        )
    times = len(blobs[1]) // len(means)  # in R-FCN, each number has one map for each bin of a region
    means, deviations = means.repeat_interleave(times), deviations.repeat_interleave(times)
    return NormalizedOutput(node.layer.name, layer, means, deviations)


@contextmanager
def weights_for_use(outputs: Sequence[NormalizedOutput]) -> Iterator[None]:
    """Convert the weights for use inside the context, and restore them to the bit afterwards."""
    before = [[blob.clone() for blob in output.blobs] for output in outputs]
    try:
        for output in outputs:
            output.to_use()
        yield
    finally:
        for output, blobs in zip(outputs, before, strict=True):
            for blob, value in zip(output.blobs, blobs, strict=True):
                blob.copy_(value)
