"""Weights as they are used: those that learned targets in units of their own predict in the right ones."""

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
    """A layer that learned targets in units of their own, whose blobs are weights and biases.

    `means` and `deviations` have a number for each of its outputs.
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
        """Let the weights predict in the units in which predictions are used."""
        weight, bias = self.blobs
        weight.mul_(_per_output(self.deviations, weight))
        bias.mul_(self.deviations.to(bias)).add_(self.means.to(bias))

    def to_train(self) -> None:
        """Let weights that are for use predict in the units of their targets again, but for what was rounded."""
        weight, bias = self.blobs
        weight.div_(_per_output(self.deviations, weight))
        bias.sub_(self.means.to(bias)).div_(self.deviations.to(bias))


def _per_output(values: Tensor, weight: Tensor) -> Tensor:
    return values.to(weight).reshape(-1, *[1] * (weight.dim() - 1))


def normalized_outputs(built: Built) -> list[NormalizedOutput]:
    """Return the layers of a net whose weights have to be changed to be used."""
    outputs: dict[str, NormalizedOutput] = {}
    for node, layer in built.pairs():
        if not isinstance(layer, NormalizesTargets) or (units := layer.target_units()) is None:
            continue
        with at_layer(node.layer):
            for learner, learning in _learners(built, node.tops[layer.targets_top]):
                outputs[learner.layer.name] = _output(learner, learning, units)
    return list(outputs.values())


def _learners(built: Built, targets: int) -> Iterator[tuple[Node, Layer]]:
    """Yield the layers whose outputs are compared with targets, perhaps after others that keep the order of
    channels."""
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
    """Return the weights of a layer, whose outputs are as many as the units have numbers, or this many times as
    many."""
    blobs = list(layer.blob_tensors())
    means, deviations = (torch.tensor(rows).flatten() for rows in (units.means, units.deviations))
    if len(blobs) != 2 or len(blobs[0]) != len(blobs[1]) or len(blobs[1]) % len(means):
        raise NetError(
            f"layer '{node.layer.name}' learns its targets in units of {len(means)} numbers, by which its weights "
            "can't be changed to be used; give it a bias and outputs to match, or set bbox_normalize_targets to False"
        )
    times = len(blobs[1]) // len(means)  # R-FCN's: each number has as many maps as there are bins in a region
    means, deviations = means.repeat_interleave(times), deviations.repeat_interleave(times)
    return NormalizedOutput(node.layer.name, layer, means, deviations)


@contextmanager
def weights_for_use(outputs: Sequence[NormalizedOutput]) -> Iterator[None]:
    """Have the weights as they are used for a while; afterwards they are what they were, to the bit."""
    before = [[blob.clone() for blob in output.blobs] for output in outputs]
    try:
        for output in outputs:
            output.to_use()
        yield
    finally:
        for output, blobs in zip(outputs, before, strict=True):
            for blob, value in zip(output.blobs, blobs, strict=True):
                blob.copy_(value)
