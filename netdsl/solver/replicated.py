"""One net on several devices: each learns from its own share of the data, and the gradients are averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.net.build import Built
from netdsl.solver.module_net import Compute, ModuleNet
from netdsl.solver.trainable_net import Positions
from netdsl.tables.table import Table


class ReplicatedNet:
    """Caffe's `-gpu 0,1`: the batch is as many times as big as there are devices; the first has what is saved."""

    def __init__(
        self, net: pb.NetParameter, devices: Sequence[torch.device], way: Compute, table: Table | None = None
    ) -> None:
        loadings = [replace(way.loading, rank=rank, size=len(devices)) for rank in range(len(devices))]
        self.replicas = [
            ModuleNet(net, replace(way, device=device, loading=loading), values=table)
            for device, loading in zip(devices, loadings, strict=True)
        ]
        self.first, self.others = self.replicas[0], self.replicas[1:]
        self.built = self.first.built
        # Every GPU has random numbers of its own; replicas on one device take theirs in turn, to be the same each time.
        self._threads = ThreadPoolExecutor(len(devices) if len(set(devices)) == len(devices) else 1)

    def clear_gradients(self) -> None:
        """Forget the gradients, and give all replicas the blobs of the first."""
        for replica in self.replicas:
            replica.clear_gradients()
        with torch.no_grad():
            for replica in self.others:
                torch._foreach_copy_(_blobs(replica.built), _blobs(self.built))

    def forward(self) -> Tensor:
        """The loss of the next batches."""
        return self._mean(list(self._threads.map(ModuleNet.forward, self.replicas)))

    def forward_backward(self) -> Tensor:
        """The loss of the next batches, whose gradients are added to those that are there."""
        share = 1 / len(self.replicas)
        losses = list(self._threads.map(lambda replica: replica.forward_backward(share), self.replicas))
        own = list(self.first.module.parameters())
        for replica in self.others:
            for mine, theirs in zip(own, replica.module.parameters(), strict=True):
                _add(mine, theirs)
        return self._mean(losses)

    def _mean(self, losses: Sequence[Tensor]) -> Tensor:
        return torch.stack([loss.to(losses[0].device) for loss in losses]).mean()

    def outputs(self) -> Mapping[str, Tensor]:
        """What the first replica made of its last batch."""
        return self.first.outputs()

    def loss_weights(self) -> Mapping[str, float]:
        """What its outputs count in the loss."""
        return self.first.loss_weights()

    def positions(self) -> Positions:
        """Where the data layers of all replicas are."""
        return self.first.positions()

    def seek(self, positions: Positions) -> None:
        """Go on with the data from there."""
        for replica in self.replicas:
            replica.seek(positions)

    @property
    def batch_size(self) -> int:
        """How many items the batches have together."""
        return sum(replica.batch_size for replica in self.replicas)

    def close(self) -> None:
        """Let go of the data."""
        self._threads.shutdown()
        for replica in self.replicas:
            replica.close()


def _blobs(built: Built) -> list[Tensor]:
    return [tensor for layer in built.layers for tensor in layer.blob_tensors()]


def _add(mine: Tensor, theirs: Tensor) -> None:
    """Move a gradient over, so that it isn't added again."""
    if theirs.grad is None:
        return
    moved = theirs.grad.to(mine.device)
    mine.grad = moved if mine.grad is None else mine.grad.add_(moved)
    theirs.grad = None
