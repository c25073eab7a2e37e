"""Momentum by torch's fused optimiser: one pass over weights, gradients and velocities, on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from netdsl.solver.flat import FlatWeights

_LEAST = 1e-8  # rate: of a smaller one, 1 - (1 - rate) has fewer digits than float32


class OnePassMomentum:
    """SGD with momentum and L2 decay, blob by blob. Gradients are read wherever autograd has left them.

    In torch's rule the rate isn't part of the velocity, as it is in Caffe's. Here torch's rate is 1 and Caffe's is its
    factor of the gradient, which torch is given as 1 - dampening.
    """

    def __init__(
        self, momentum: float, decay: float, weights: FlatWeights, velocities: Tensor, *, batches: int = 1
    ) -> None:
        """Update by gradients that are sums over so many batches."""
        self._momentum, self._batches = momentum, batches
        self._blobs = [[blob.tensor for blob in group.blobs] for group in weights.groups]
        self._velocities = [[weights.view(velocities, blob) for blob in group.blobs] for group in weights.groups]
        self._decays = [decay * group.decay_mult * batches for group in weights.groups]

    def takes(self, rates: Sequence[float]) -> bool:
        """Whether these rates of the groups reach the weights to the last digit."""
        return all(rate == 0 or abs(rate / self._batches) >= _LEAST for rate in rates)

    def __call__(self, rates: Sequence[float]) -> None:
        """Update the weights and the velocities."""
        for blobs, velocities, decay, rate in zip(self._blobs, self._velocities, self._decays, rates, strict=True):
            if blobs[0].is_meta:  # nothing to do, and torch has no form of this that does nothing
                continue
            sgd(
                blobs,
                [_gradient(blob) for blob in blobs],
                list(velocities),
                weight_decay=decay,
                momentum=self._momentum,
                lr=1.0,
                dampening=1 - rate / self._batches,
                nesterov=False,
                maximize=False,
                fused=True,
            )


def _gradient(blob: Tensor) -> Tensor:
    """A blob's gradient in the blob's order of values, which torch doesn't check; zeros if nothing depends on it."""
    if blob.grad is None:
        return torch.zeros_like(blob)
    axes = zip(blob.shape, blob.stride(), blob.grad.stride(), strict=True)
    if all(own == other or length == 1 for length, own, other in axes):
        return blob.grad
    return torch.empty_like(blob).copy_(blob.grad)
