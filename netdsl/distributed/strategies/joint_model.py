"""The joint model of MPCA, which a coordinator blends with the workers' mean and projects ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_CACHED = 1 << 17  # values of model, velocity and mean that fit into a core's cache


@dataclass(frozen=True)
class Motion:
    """The rates at which the joint model moves: Eqs. 4, 5 and 8 of the MPCA paper.

    `beta` is the share of the workers' mean in the next model, `delta` the share of the old velocity in the next one,
    and `gamma` the number of cycles that the model is projected ahead. In the first `ramp` cycles beta falls from 1 by
    a constant factor, since a new model has learned nothing yet, and gamma rises from 0, since its first changes are
    noise.
    """

    beta: float
    gamma: float
    delta: float
    ramp: int

    def beta_after(self, cycles: int) -> float:
        """Beta of the update after `cycles` updates."""
        return float(self.beta ** self._ramped(cycles))

    def gamma_after(self, cycles: int) -> float:
        """Gamma after `cycles` updates."""
        return self.gamma * self._ramped(cycles)

    def _ramped(self, cycles: int) -> float:
        return min(1.0, cycles / self.ramp) if self.ramp else 1.0


class JointModel:
    """The joint model with its velocity, shard by shard.

    Values that aren't learned, such as BatchNorm's sums, are blended but have no velocity: a sum over batches can't be
    projected to batches that are still to come.
    """

    def __init__(self, motion: Motion, weights: Tensor, learned: int, shards: Sequence[slice]) -> None:
        self.motion, self.learned, self.shards = motion, learned, shards
        self.model = weights.clone()
        self.velocity = torch.zeros_like(weights[:learned])
        self.cycles = torch.zeros(len(shards), dtype=torch.int64)  # the number of updates of each shard

    def update(self, shard: int, mean: Tensor) -> None:
        """Blend a shard with the workers' mean (Eq. 8), and update its velocity (Eq. 4)."""
        model, velocity = self.model[self.shards[shard]], self.velocity[self.shards[shard]]
        beta = self.motion.beta_after(int(self.cycles[shard]))
        longest = _CACHED if mean.is_cpu else max(1, len(mean))
        for start in range(0, len(mean), longest):
            part = slice(start, start + longest)
            part_velocity, part_model, part_mean = velocity[part], model[part], mean[part]
            learned = len(part_velocity)
            change = torch.sub(part_mean[:learned], part_model[:learned]).mul_(beta)
            part_velocity.lerp_(change, 1 - self.motion.delta)
            part_model.lerp_(part_mean, beta)
        self.cycles[shard] += 1

    def project(self, shard: int, projected: Tensor) -> None:
        """Fill a buffer with the values that a shard is expected to have `gamma` cycles from now (Eq. 5)."""
        model, velocity = self.model[self.shards[shard]], self.velocity[self.shards[shard]]
        learned, gamma = len(velocity), self.motion.gamma_after(int(self.cycles[shard]))
        torch.add(model[:learned], velocity, alpha=gamma, out=projected[:learned])
        projected[learned:].copy_(model[learned:])
