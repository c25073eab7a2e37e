"""Allreduce, which averages gradients in every iteration during the backward pass, as MaTEx and SparkNet's "naive"
do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator, Handle
from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.strategies.strategy import ModelSize, StrategyTraffic, Transfer
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.flat import FlatBlob, FlatWeights


class AllReduce(msgspec.Struct, frozen=True, tag="allreduce", tag_field="name"):
    """The settings of allreduce, in which all workers take each step together.

    The workers divide the net's batch, so the losses equal those of a single worker. With `divides_batch` false each
    worker has a whole batch, as in Caffe's training on several GPUs.

    Weights and solver histories are the same in all workers. BatchNorm normalizes each worker's part of a batch
    separately, and its sums are averaged at the end of a round, which is every `tau`-th iteration. Gradients are
    exchanged in buckets of about `bucket` megabytes.
    """

    name: ClassVar[str] = "allreduce"
    synchronous: ClassVar[bool] = True
    tau: int = 20
    bucket: float = 4.0
    divides_batch: bool = True

    def __post_init__(self) -> None:
        if self.tau < 1 or self.bucket <= 0:
            raise DistributedError("tau or bucket is too small; give a tau of 1 or more, and a bucket above 0")

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the traffic: each iteration averages the gradients bucket by bucket, and each round averages all other
        values."""
        pieces = sum(len(list(_cut_into_buckets(blobs, self._bucket_bytes))) for blobs in model.learned)
        gradients = Transfer(ExchangeKind.MEAN, model.learned_bytes, pieces)
        sums = [Transfer(ExchangeKind.MEAN, model.statistics)] if model.statistics else []
        begin = [Transfer(ExchangeKind.BROADCAST, model.bytes)]
        return StrategyTraffic(self.tau, begin, iteration=[gradients], round=sums)

    @property
    def _bucket_bytes(self) -> int:
        return int(self.bucket * 2**20)

    def begin(self, worker: Worker) -> _AllReduce:
        """Begin a worker's part of the run."""
        return _AllReduce(self, worker)


class _AllReduce:
    def __init__(self, settings: AllReduce, worker: Worker) -> None:
        self._settings, self._worker = settings, worker
        worker.finish(worker.communicator.broadcast(worker.weights))
        buckets = [
            self._gradient_bucket(blobs) for blobs in _blobs_by_bucket(worker.solver.weights, settings._bucket_bytes)
        ]
        self._buckets = GradientBuckets(worker.communicator, buckets, worker.finish)
        worker.solver.on_start.append(self._begin_iteration)
        worker.solver.on_gradients_ready.append(self._buckets.complete)
        for bucket in buckets:
            for tensor in bucket.tensors:
                tensor.register_post_accumulate_grad_hook(self._buckets.note)  # type: ignore[no-untyped-call]

    def round(self) -> None:
        worker = self._worker
        worker.train(self._settings.tau - worker.solver.iteration % self._settings.tau)
        sums = worker.weights[worker.learned :]
        if sums.numel():
            worker.finish(worker.communicator.mean(sums))

    def model(self) -> Tensor:
        return self._worker.weights

    def state(self) -> Mapping[str, Tensor]:
        return {}

    def finish(self) -> None:
        pass

    def _gradient_bucket(self, blobs: Sequence[FlatBlob]) -> Bucket:
        """Return the bucket of blobs that are adjacent in the flat buffer."""
        gradients = self._worker.solver.updater.gradients
        tensors = [blob.tensor for blob in blobs]
        views = [gradients.views[tensor] for tensor in tensors]
        return Bucket(tensors, views, gradients.buffer[blobs[0].start : blobs[-1].stop])

    def _begin_iteration(self) -> None:
        self._buckets.begin(self._worker.solver.param.iter_size)


@dataclass
class Bucket:
    """Tensors whose gradients are averaged in one exchange. `views` are their parts of `buffer`."""

    tensors: Sequence[Tensor]
    views: Sequence[Tensor]
    buffer: Tensor
    missing: int = 0  # gradients that aren't computed yet
    handle: Handle | None = None

    def fill(self) -> None:
        """Copy the gradients into the buffer, unless they are views of it. A tensor without a gradient contributes
        zeros."""
        for tensor, view in zip(self.tensors, self.views, strict=True):
            if tensor.grad is None:
                view.zero_()
            elif tensor.grad is not view:
                view.copy_(tensor.grad)

    @torch.no_grad()
    def put_back(self) -> None:
        """Copy the averaged values into the gradients that exist."""
        for tensor, view in zip(self.tensors, self.views, strict=True):
            if tensor.grad is not None:
                tensor.grad.copy_(view)


class GradientBuckets:
    """Buckets that all workers send in the same order, each as soon as it and all earlier ones are complete.

    `finish` waits for an exchange.
    """

    def __init__(
        self, communicator: Communicator, buckets: Sequence[Bucket], finish: Callable[[Handle], object]
    ) -> None:
        self.buckets, self._communicator, self._finish = buckets, communicator, finish
        self._sent = 0
        self._bucket_of = {id(tensor): bucket for bucket in buckets for tensor in bucket.tensors}

    def begin(self, passes: int = 1) -> None:
        """Begin an iteration with this many backward passes."""
        self._sent = 0
        for bucket in self.buckets:
            bucket.missing = len(bucket.tensors) * passes

    @torch.no_grad()
    def note(self, tensor: Tensor) -> None:
        """Note that a pass has added to a tensor's gradient, and send the buckets that are complete now."""
        self._bucket_of[id(tensor)].missing -= 1
        self._send_complete()

    @torch.no_grad()
    def complete(self) -> None:
        """Send the remaining buckets, and wait for all means, which are then in the views."""
        for bucket in self.buckets[self._sent :]:
            bucket.missing = 0
        self._send_complete()
        for bucket in self.buckets:
            assert bucket.handle is not None
            self._finish(bucket.handle)

    def _send_complete(self) -> None:
        """Send complete buckets, up to the first incomplete one."""
        while self._sent < len(self.buckets) and self.buckets[self._sent].missing <= 0:
            bucket = self.buckets[self._sent]
            bucket.fill()
            bucket.handle = self._communicator.mean(bucket.buffer)
            self._sent += 1


def _blobs_by_bucket(weights: FlatWeights, size: int) -> list[tuple[FlatBlob, ...]]:
    """Return the blobs of each bucket in the order in which their gradients are computed, the last layers' blobs
    first."""
    order = {id(blob.tensor): index for index, blob in enumerate(weights.blobs)}
    buckets = [
        group.blobs[part]
        for group in weights.groups
        for part in _cut_into_buckets([blob.tensor.nbytes for blob in group.blobs], size)
    ]
    return sorted(buckets, key=lambda bucket: -min(order[id(blob.tensor)] for blob in bucket))


def _cut_into_buckets(sizes: Sequence[int], least: int) -> Iterator[slice]:
    """Yield the buckets of a group of blobs with these sizes. Each has at least `least` bytes, except for the last
    one."""
    start = size = 0
    for index, blob in enumerate(sizes, 1):
        size += blob
        if size >= least or index == len(sizes):
            yield slice(start, index)
            start, size = index, 0
