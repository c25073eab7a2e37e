"""Allreduce: gradients averaged in every iteration, beside the backward pass; MaTEx's way, and SparkNet's 'naive'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
from torch import Tensor

from netdsl.distributed.gradients import Bucket, GradientBuckets
from netdsl.distributed.link import ExchangeKind
from netdsl.distributed.strategies.traffic import ModelSize, StrategyTraffic, Transfer
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.flat import FlatBlob, FlatWeights


class AllReduce(msgspec.Struct, frozen=True, tag="allreduce", tag_field="name"):
    """The settings of allreduce, in which all workers take each step together.

    The workers divide the net's batch, so that losses are those of a single worker. With `divides_batch` false each
    worker has a whole batch, as Caffe's GPUs have.

    Weights and solver histories are the same in all workers. BatchNorm normalises each worker's part of a batch by
    itself, and its sums are averaged at the end of a round, in every `tau`-th iteration. Gradients are exchanged in
    buckets of about `bucket` megabytes.
    """

    name: ClassVar[str] = "allreduce"
    synchronous: ClassVar[bool] = True
    tau: int = 20
    bucket: float = 4.0
    divides_batch: bool = True

    def __post_init__(self) -> None:
        if self.tau < 1 or self.bucket <= 0:
            raise DistributedError("tau must be 1 or more, and bucket above 0")

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """A mean of gradients in each iteration, bucket by bucket, and of the other values in each round."""
        pieces = sum(len(list(_cut(blobs, self._bucket_bytes))) for blobs in model.learned)
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
        buckets = [self._bucket(blobs) for blobs in _buckets(worker.solver.weights, settings._bucket_bytes)]
        self._buckets = GradientBuckets(worker.communicator, buckets, worker.finish)
        worker.solver.on_start.append(self._start)
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

    def _bucket(self, blobs: Sequence[FlatBlob]) -> Bucket:
        """The bucket of blobs next to each other in the flat buffer."""
        gradients = self._worker.solver.updater.gradients
        tensors = [blob.tensor for blob in blobs]
        views = [gradients.views[tensor] for tensor in tensors]
        return Bucket(tensors, views, gradients.buffer[blobs[0].start : blobs[-1].stop])

    def _start(self) -> None:
        self._buckets.begin(self._worker.solver.param.iter_size)


def _buckets(weights: FlatWeights, size: int) -> list[tuple[FlatBlob, ...]]:
    """The blobs of each bucket in the order in which gradients are computed: those of the last layers first."""
    order = {id(blob.tensor): index for index, blob in enumerate(weights.blobs)}
    buckets = [
        group.blobs[part]
        for group in weights.groups
        for part in _cut([blob.tensor.nbytes for blob in group.blobs], size)
    ]
    return sorted(buckets, key=lambda bucket: -min(order[id(blob.tensor)] for blob in bucket))


def _cut(sizes: Sequence[int], least: int) -> Iterator[slice]:
    """The buckets of a group of blobs with these sizes: each has `least` bytes or more, but for the last one."""
    start = size = 0
    for index, blob in enumerate(sizes, 1):
        size += blob
        if size >= least or index == len(sizes):
            yield slice(start, index)
            start, size = index, 0
