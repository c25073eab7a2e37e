"""Evaluation of a net: the averages of its loss and outputs over some batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from netdsl.layer.measuring import JudgesDetections
from netdsl.solver.events import BatchTested, Output
from netdsl.solver.trainable_net import TrainableNet


def average_batches(
    net: TrainableNet,
    batches: int,
    interrupted: Callable[[], bool] = lambda: False,
    listen: Callable[[BatchTested], object] | None = None,
) -> tuple[float, tuple[Output, ...]] | None:
    """The mean loss and the mean outputs over the next batches, or None if it was interrupted before the end.

    An output that has a row for each detection, or whose batches differ in shape, has no mean and is left out. `listen`
    gets each batch's outputs.
    """
    sums: dict[str, Tensor] = {}
    losses: list[Tensor] = []
    without_mean = {
        net.built.graph.blobs[node.tops[0]] for node, layer in net.built.pairs() if isinstance(layer, JudgesDetections)
    }
    for batch in range(batches):
        if interrupted():
            return None
        losses.append(net.forward())
        outputs = {name: top.detach() for name, top in net.outputs().items() if name not in without_mean}
        without_mean.update(name for name in sums if sums[name].shape != outputs[name].shape)
        sums = {
            name: sums[name] + top if name in sums else top.clone()
            for name, top in outputs.items()
            if name not in without_mean
        }
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
