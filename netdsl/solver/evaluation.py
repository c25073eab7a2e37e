"""Evaluation of a net: the averages of its loss and outputs over some batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from netdsl.solver.events import Output
from netdsl.solver.trainable_net import TrainableNet


def average_batches(
    net: TrainableNet, batches: int, interrupted: Callable[[], bool] = lambda: False
) -> tuple[float, tuple[Output, ...]] | None:
    """The mean loss and the mean outputs over the next batches, or None if it was interrupted before the end."""
    sums: dict[str, Tensor] = {}
    losses: list[Tensor] = []
    for _ in range(batches):
        if interrupted():
            return None
        losses.append(net.forward())
        for name, top in net.outputs().items():
            sums[name] = sums[name] + top.detach() if name in sums else top.detach().clone()
    means = {name: total / batches for name, total in sums.items()}
    return sum(float(loss) for loss in losses) / max(1, batches), outputs_of(net, means)


def outputs_of(net: TrainableNet, tops: Mapping[str, Tensor]) -> tuple[Output, ...]:
    """The values of a net's outputs. Caffe's rule: they are sorted by name."""
    weights = net.loss_weights()
    return tuple(
        Output(name, tuple(top.detach().flatten().tolist()), weights.get(name, 0.0))
        for name, top in sorted(tops.items())
    )
