"""Gradients that several workers average in buckets, while the backward pass goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator, Handle


@dataclass
class Bucket:
    """Tensors whose gradients are averaged in one exchange, in a buffer of which `views` are their parts."""

    tensors: Sequence[Tensor]
    views: Sequence[Tensor]
    buffer: Tensor
    missing: int = 0  # gradients that aren't computed yet
    handle: Handle | None = None

    def fill(self) -> None:
        """Copy the gradients into the buffer, unless they lie there; it is zero where nothing depends on a tensor."""
        for tensor, view in zip(self.tensors, self.views, strict=True):
            if tensor.grad is None:
                view.zero_()
            elif tensor.grad is not view:
                view.copy_(tensor.grad)

    @torch.no_grad()
    def put_back(self) -> None:
        """Copy the buffer into the gradients, where there are any."""
        for tensor, view in zip(self.tensors, self.views, strict=True):
            if tensor.grad is not None:
                tensor.grad.copy_(view)


class GradientBuckets:
    """Buckets that all workers send in the same order, each as soon as it and those before it are complete.

    `finish` waits for an exchange.
    """

    def __init__(
        self, communicator: Communicator, buckets: Sequence[Bucket], finish: Callable[[Handle], object]
    ) -> None:
        self.buckets, self._communicator, self._finish = buckets, communicator, finish
        self._sent = 0
        self._bucket_of = {id(tensor): bucket for bucket in buckets for tensor in bucket.tensors}

    def begin(self, passes: int = 1) -> None:
        """Begin an iteration with so many backward passes."""
        self._sent = 0
        for bucket in self.buckets:
            bucket.missing = len(bucket.tensors) * passes

    @torch.no_grad()
    def note(self, tensor: Tensor) -> None:
        """Note that a pass has added to a tensor's gradient, and send what is complete now."""
        self._bucket_of[id(tensor)].missing -= 1
        self._send()

    @torch.no_grad()
    def complete(self) -> None:
        """Send what no pass came to, and wait for all means, which are in the views then."""
        for bucket in self.buckets[self._sent :]:
            bucket.missing = 0
        self._send()
        for bucket in self.buckets:
            assert bucket.handle is not None
            self._finish(bucket.handle)

    def _send(self) -> None:
        """Send the complete buckets, up to the first that isn't complete."""
        while self._sent < len(self.buckets) and self.buckets[self._sent].missing <= 0:
            bucket = self.buckets[self._sent]
            bucket.fill()
            bucket.handle = self._communicator.mean(bucket.buffer)
            self._sent += 1
