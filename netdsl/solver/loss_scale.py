"""The scale of the loss in float16, so that small gradients aren't lost, and the steps that are skipped for it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from netdsl.errors import SolverError

_FIRST, _MOST, _LEAST = 2.0**16, 2.0**24, 2.0**-16
_PATIENCE = 2000  # good steps until the scale is doubled


class LossScale:
    """What a loss is multiplied by before the backward pass: as much as gradients in float16 bear.

    A step whose gradients aren't finite is skipped, and halves the scale; so many good ones in a row double it. All is
    decided on the device, for which nobody waits. Scales are powers of two, so that no digit of a gradient changes.
    """

    def __init__(self, device: torch.device | str = "cpu", patience: int = _PATIENCE) -> None:
        self._patience = patience
        self._state = torch.tensor([_FIRST, 0.0, 0.0]).to(device, non_blocking=True)
        self.value, self._good, self._skipped = self._state.unbind()  # good ones since a change, and all skipped ones
        self._reported = 0.0

    @torch.no_grad()
    def unscale(self, gradients: Tensor) -> Tensor:
        """Give gradients their true size, in place; returns whether all are finite, without a wait."""
        norm: Tensor = torch.linalg.vector_norm(gradients.mul_(self.value.reciprocal()))
        return norm.isfinite()

    @torch.no_grad()
    def update(self, finite: Tensor) -> None:
        """Change the scale after a step, which was taken only if its gradients were finite."""
        good = torch.where(finite, self._good + 1, 0.0)
        doubled = torch.where(good >= self._patience, self.value * 2, self.value)
        self.value.copy_(torch.where(finite, doubled, self.value / 2).clamp_(_LEAST, _MOST))
        self._good.copy_(torch.where(good >= self._patience, 0.0, good))
        self._skipped.add_(finite.logical_not())

    def report(self) -> str:
        """A sentence about the steps that were skipped since the last report; empty if none was. This waits for a GPU.

        A scale that fell as far as it can is an error, since then nothing is learned.
        """
        scale, _, skipped = self.numbers()
        if scale <= _LEAST:
            raise SolverError(
                "no step is taken any more: gradients aren't finite in float16, however small the loss is made; train "
                "with --precision bf16, or look for values in the data that aren't finite"
            )
        count, self._reported = int(skipped - self._reported), skipped
        steps = "1 step was" if count == 1 else f"{count} steps were"
        return f"{steps} skipped, whose gradients are more than float16 holds; the loss scale is {scale:g}" * (
            count > 0
        )

    def numbers(self) -> list[float]:
        """All that has to be kept. This waits for a GPU."""
        numbers: list[float] = self._state.tolist()
        return numbers

    def restore(self, numbers: Sequence[float]) -> None:
        """Go on with numbers that were kept."""
        self._state.copy_(torch.tensor(numbers))
        self._reported = numbers[-1]
