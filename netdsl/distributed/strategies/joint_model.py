"""The model that a coordinator makes of what workers send: blended with what it was, and projected ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_CACHED = 1 << 17  # values: a stretch of model, velocity and mean together stays in a core's cache


@dataclass(frozen=True)
class Motion:
    """How the joint model moves: Eqs. 4, 5 and 8 of the MPCA paper.

    `beta` is the share of the workers' mean in the next model, `delta` of the old velocity in the next, and `gamma`
    how many cycles are looked ahead. In the first `ramp` cycles beta falls from 1 by a constant factor, since a new
    model knows nothing that is worth keeping, and gamma rises from 0, since its first changes are noise.
    """

    beta: float
    gamma: float
    delta: float
    ramp: int

    def beta_after(self, cycles: int) -> float:
        """Beta, when the joint model was updated so often before."""
        return float(self.beta ** self._ramped(cycles))

    def gamma_after(self, cycles: int) -> float:
        """Gamma, when the joint model was updated so often."""
        return self.gamma * self._ramped(cycles)

    def _ramped(self, cycles: int) -> float:
        return min(1.0, cycles / self.ramp) if self.ramp else 1.0


class JointModel:
    """The joint model with its velocity, shard by shard.

    What doesn't learn, such as BatchNorm's sums, is blended but has no velocity: a sum over batches that are still to
    come is none.
    """

    def __init__(self, motion: Motion, weights: Tensor, learned: int, shards: Sequence[slice]) -> None:
        self.motion, self.learned, self.shards = motion, learned, shards
        self.model = weights.clone()
        self.velocity = torch.zeros_like(weights[:learned])
        self.cycles = torch.zeros(len(shards), dtype=torch.int64)  # how often each shard was updated

    def update(self, shard: int, mean: Tensor) -> None:
        """Blend a shard with the workers' mean of it (Eq. 8), and follow where it goes (Eq. 4)."""
        model, velocity = self.model[self.shards[shard]], self.velocity[self.shards[shard]]
        beta = self.motion.beta_after(int(self.cycles[shard]))
        longest = _CACHED if mean.is_cpu else max(1, len(mean))
        for start in range(0, len(mean), longest):
            part = slice(start, start + longest)
            moving, before, target = velocity[part], model[part], mean[part]
            change = torch.sub(target[: len(moving)], before[: len(moving)]).mul_(beta)
            moving.lerp_(change, 1 - self.motion.delta)
            before.lerp_(target, beta)
        self.cycles[shard] += 1

    def project(self, shard: int, projected: Tensor) -> None:
        """Fill a buffer with what the shard is expected to be `gamma` cycles from now (Eq. 5)."""
        model, velocity = self.model[self.shards[shard]], self.velocity[self.shards[shard]]
        learned, gamma = len(velocity), self.motion.gamma_after(int(self.cycles[shard]))
        torch.add(model[:learned], velocity, alpha=gamma, out=projected[:learned])
        projected[learned:].copy_(model[learned:])
