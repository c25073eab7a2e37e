"""Evaluation of a net: the averages of its loss and outputs over some batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from netdsl.solver.events import BatchTested, Output
from netdsl.solver.trainable_net import TrainableNet


def average_batches(
    net: TrainableNet,
    batches: int,
    interrupted: Callable[[], bool] = lambda: False,
    listen: Callable[[BatchTested], object] | None = None,
) -> tuple[float, tuple[Output, ...]] | None:
    """The mean loss and the mean outputs over the next batches, or None if it was interrupted before the end.

    `listen` gets each batch's outputs.
    """
    sums: dict[str, Tensor] = {}
    losses: list[Tensor] = []
    for batch in range(batches):
        if interrupted():
            return None
        losses.append(net.forward())
        for name, top in net.outputs().items():
            sums[name] = sums[name] + top.detach() if name in sums else top.detach().clone()
        if listen is not None:
            listen(BatchTested(batch, outputs_of(net, net.outputs())))
    means = {name: total / batches for name, total in sums.items()}
    loss = sum(torch.stack(losses).tolist()) / batches if losses else 0.0  # a GPU is waited for once, at the end
    return loss, outputs_of(net, means)


def outputs_of(net: TrainableNet, tops: Mapping[str, Tensor]) -> tuple[Output, ...]:
    """The values of a net's outputs. Caffe's rule: they are sorted by name."""
    weights = net.loss_weights()
    return tuple(
        Output(name, tuple(top.detach().flatten().tolist()), weights.get(name, 0.0))
        for name, top in sorted(tops.items())
    )
