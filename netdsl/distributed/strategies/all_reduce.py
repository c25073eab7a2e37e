"""Allreduce: gradients averaged in every iteration, beside the backward pass; MaTEx's way, and SparkNet's 'naive'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.communicator import Handle
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

    def begin(self, worker: Worker) -> _AllReduce:
        """Begin a worker's part of the run."""
        return _AllReduce(self, worker)


@dataclass
class _Bucket:
    """Blobs next to each other in the flat buffer, whose gradients are averaged in one exchange."""

    blobs: list[FlatBlob]
    missing: int = 0  # gradients that aren't computed yet
    handle: Handle | None = None

    @property
    def place(self) -> slice:
        return slice(self.blobs[0].start, self.blobs[-1].stop)


class _AllReduce:
    def __init__(self, settings: AllReduce, worker: Worker) -> None:
        self._settings, self._worker = settings, worker
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._gradient = torch.zeros_like(worker.weights[: worker.learned])
        size = int(settings.bucket * 2**20 / self._gradient.element_size())
        self._buckets = _buckets(worker.solver.weights, size)
        self._sent = 0  # buckets of this iteration: all workers send them in the same order
        self._local_gradients: list[Tensor | None] = []  # those that the means have replaced
        worker.solver.on_start.append(self._start)
        worker.solver.on_gradients_ready.append(self._end)
        for bucket in self._buckets:
            for blob in bucket.blobs:
                self._watch(blob, bucket)

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

    def _start(self) -> None:
        self._local_gradients.clear()
        self._sent = 0
        for bucket in self._buckets:
            bucket.missing = len(bucket.blobs) * self._worker.solver.param.iter_size

    def _watch(self, blob: FlatBlob, bucket: _Bucket) -> None:
        def on_gradient(tensor: Tensor) -> None:
            bucket.missing -= 1
            self._send()

        blob.tensor.register_post_accumulate_grad_hook(on_gradient)  # type: ignore[no-untyped-call]

    def _send(self) -> None:
        """Send the complete buckets, up to the first that isn't complete."""
        while self._sent < len(self._buckets) and self._buckets[self._sent].missing <= 0:
            bucket = self._buckets[self._sent]
            for blob in bucket.blobs:
                view = FlatWeights.view(self._gradient, blob)
                if blob.tensor.grad is None:  # nothing in this net depends on it
                    view.zero_()
                else:
                    view.copy_(blob.tensor.grad)
            bucket.handle = self._worker.communicator.mean(self._gradient[bucket.place])
            self._sent += 1

    def _end(self) -> None:
        """Wait for all means, and put them in place of the worker's gradients.

        The worker's gradients are kept until the next iteration begins. If they were freed here, the system would take
        back memory that the next forward pass needs, and give it again page by page, which takes longer than the
        exchange.
        """
        for bucket in self._buckets[self._sent :]:
            bucket.missing = 0
        self._send()
        for bucket in self._buckets:
            assert bucket.handle is not None
            self._worker.finish(bucket.handle)
            for blob in bucket.blobs:
                self._local_gradients.append(blob.tensor.grad)
                blob.tensor.grad = FlatWeights.view(self._gradient, blob)


def _buckets(weights: FlatWeights, size: int) -> list[_Bucket]:
    """The buckets in the order in which gradients are computed: those of the last layers first."""
    order = {id(blob.tensor): index for index, blob in enumerate(weights.blobs)}
    buckets = [bucket for group in weights.groups for bucket in _cut(group.blobs, size)]
    return sorted(buckets, key=lambda bucket: -min(order[id(blob.tensor)] for blob in bucket.blobs))


def _cut(blobs: tuple[FlatBlob, ...], size: int) -> Iterator[_Bucket]:
    """Buckets of `size` values or more, but for the last one."""
    bucket = _Bucket([])
    for blob in blobs:
        bucket.blobs.append(blob)
        if blob.stop - bucket.blobs[0].start >= size:
            yield bucket
            bucket = _Bucket([])
    if bucket.blobs:
        yield bucket
