"""Measures the peak speed of a machine, and derives the least time that a training step can take."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from benchmarks.timing import seconds
from netdsl.net.build import Built
from netdsl.planner.layer_costs import LayerCost, layer_costs
from netdsl.planner.operations import OperationKind

_ROUNDS = 5
_UPDATE_MOVES = 5  # a step with momentum reads weights, gradients and velocity, and writes weights and velocity


@dataclass(frozen=True)
class Ceiling:
    """The peak operations and bytes per second, measured on a product of large matrices and on a long copy."""

    flops: float
    bandwidth: float


def measure_ceiling(device: str, dtype: torch.dtype) -> Ceiling:
    """Measure the peaks with a product of large matrices of a type and a long copy."""
    size, length = (8192, 1 << 28) if device.startswith("cuda") else (1536, 1 << 25)
    first, second = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    values = torch.ones(length, device=device)
    copy = torch.empty_like(values)
    product_seconds = _median(lambda: first @ second)
    return Ceiling(2 * size**3 / product_seconds, 2 * values.nbytes / _median(lambda: copy.copy_(values)))


def _median(task: Callable[[], object]) -> float:
    return statistics.median([seconds(task) for _ in range(_ROUNDS + 1)][1:])


def least_seconds(built: Built, device: str, ceiling: Ceiling) -> float:
    """Return the least seconds of a step of a net at its batch size.

    The limit is either its products or the bytes that an update with momentum moves. Data in caches aren't counted.
    Algorithms that multiply less, such as Winograd's, can be faster.
    """
    costs = layer_costs(built, torch.device(device))
    learned = sum(cost.parameter_bytes for cost in costs)
    return max(_product_seconds(costs, ceiling), _UPDATE_MOVES * learned / ceiling.bandwidth)


def least_product_seconds(built: Built, device: str, ceiling: Ceiling) -> float:
    """Return the least seconds of the products in a forward and a backward pass of a net at its batch size."""
    return _product_seconds(layer_costs(built, torch.device(device)), ceiling)


def _product_seconds(costs: Sequence[LayerCost], ceiling: Ceiling) -> float:
    operations = [operation for cost in costs for operation in (*cost.forward, *cost.backward)]
    flops = sum(operation.flops for operation in operations if operation.kind is not OperationKind.OTHER)
    return flops / ceiling.flops
