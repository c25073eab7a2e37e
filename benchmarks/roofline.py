"""What a machine can do at most, measured by itself, and how long a training step takes at least by that."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from benchmarks.timing import seconds
from netdsl.net.build import Built
from netdsl.planner.layer_costs import layer_costs
from netdsl.planner.operations import OperationKind, TensorOperation

_ROUNDS = 5
_UPDATE_MOVES = 5  # a step with momentum reads weights, gradients and velocity, and writes the first and the last


@dataclass(frozen=True)
class Ceiling:
    """Operations and bytes a second that nothing exceeds: those of a product of large matrices, and of a long copy."""

    flops: float
    bandwidth: float

    def seconds(self, operations: Iterable[TensorOperation], width: float) -> float:
        """The least seconds of operations one after the other, with values of `width` times four bytes."""
        return sum(
            max(
                operation.flops / self.flops if operation.kind is not OperationKind.OTHER else 0.0,
                width * operation.bytes / self.bandwidth,
            )
            for operation in operations
        )


def measure_ceiling(device: str, dtype: torch.dtype) -> Ceiling:
    """Multiply matrices of these numbers, and copy."""
    size, length = (8192, 1 << 28) if device.startswith("cuda") else (1536, 1 << 25)
    first, second = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    values = torch.ones(length, device=device)
    copy = torch.empty_like(values)
    product_seconds = _median(lambda: first @ second)
    return Ceiling(2 * size**3 / product_seconds, 2 * values.nbytes / _median(lambda: copy.copy_(values)))


def _median(task: Callable[[], object]) -> float:
    return statistics.median([seconds(task) for _ in range(_ROUNDS + 1)][1:])


def least_seconds(built: Built, device: str, ceiling: Ceiling, width: float) -> float:
    """The least seconds of a step of a net at its batch with an update with momentum, which is in float32."""
    costs = layer_costs(built, torch.device(device))
    operations = [operation for cost in costs for operation in (*cost.forward, *cost.backward)]
    learned = sum(cost.parameter_bytes for cost in costs)
    return ceiling.seconds(operations, width) + _UPDATE_MOVES * learned / ceiling.bandwidth
