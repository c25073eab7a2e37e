"""One change of all weights, a stretch of the buffer at a time: gradients are clipped, decayed and made steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.solver.flat import BlobGroup, FlatBlob, FlatWeights
from netdsl.solver.rules import rule_of

_CACHED = 1 << 17  # values: a stretch of weights, gradients and history together stays in a core's cache


@dataclass(frozen=True)
class GroupPart:
    """Some of a blob's values; without a blob, the gap before the next one."""

    blob: FlatBlob | None
    start: int
    stop: int


@dataclass(frozen=True)
class Stretch:
    """A piece of the buffer that is changed at once, and whose gradients it takes."""

    group: BlobGroup
    start: int
    stop: int
    parts: tuple[GroupPart, ...]


class Updater:
    """Changes the weights of a net by their gradients, as a solver's settings say."""

    def __init__(self, param: pb.SolverParameter, weights: FlatWeights) -> None:
        if param.regularization_type not in ("L1", "L2"):
            raise SolverError(f"unknown regularization_type '{param.regularization_type}'; it is L1 or L2")
        self.param, self.weights, self.rule = param, weights, rule_of(param)
        learned = weights.buffer[: weights.learned]
        self.histories = [torch.zeros_like(learned) for _ in range(self.rule.histories)]
        longest = _CACHED if learned.device.type == "cpu" else max(1, weights.learned)
        self._stretches = [stretch for group in weights.groups for stretch in _stretches(group, longest)]
        self._gradient = learned.new_empty(max((one.stop - one.start for one in self._stretches), default=0))
        self._nothing = torch.zeros_like(self._gradient)

    @torch.no_grad()
    def apply(self, rate: float, iteration: int) -> None:
        """One step with the gradients that the blobs have now."""
        scale = self._clipped() / self.param.iter_size
        for stretch in self._stretches:
            self._step(stretch, scale, rate, iteration)

    def _step(self, stretch: Stretch, scale: float, rate: float, iteration: int) -> None:
        group, place = stretch.group, slice(stretch.start, stretch.stop)
        weights, gradient = self.weights.buffer[place], self._gradient[: stretch.stop - stretch.start]
        torch.cat([self._values(part) for part in stretch.parts], out=gradient)
        if scale != 1:
            gradient.mul_(scale)
        decay = self.param.weight_decay * group.decay_mult
        if decay:
            gradient.add_(weights if self.param.regularization_type == "L2" else weights.sign(), alpha=decay)
        self.rule(weights, gradient, [each[place] for each in self.histories], rate * group.lr_mult, iteration)

    def _values(self, part: GroupPart) -> Tensor:
        if part.blob is None or part.blob.tensor.grad is None:
            return self._nothing[: part.stop - part.start]
        return part.blob.tensor.grad.reshape(-1)[part.start : part.stop]

    def _clipped(self) -> float:
        """Caffe's rule: gradients as they were added up, over all that learns, are scaled to `clip_gradients`."""
        if self.param.clip_gradients < 0:
            return 1.0
        gradients = [blob.tensor.grad for group in self.weights.groups for blob in group.blobs]
        norm = torch.nn.utils.get_total_norm([each for each in gradients if each is not None]).item()
        return self.param.clip_gradients / norm if norm > self.param.clip_gradients else 1.0

    def clear(self) -> None:
        """Forget the gradients."""
        for blob in self.weights.blobs:
            blob.tensor.grad = None

    def history(self) -> Iterator[Tensor]:
        """What is remembered, blob by blob in Caffe's order; zeros for those that don't learn."""
        for flat in self.histories:
            for blob in self.weights.blobs:
                yield self.weights.view(flat, blob) if blob.learns else torch.zeros_like(blob.tensor)


def _stretches(group: BlobGroup, longest: int) -> Iterator[Stretch]:
    """A group cut into pieces that aren't longer than that."""
    for start in range(group.start, group.stop, longest):
        stop = min(start + longest, group.stop)
        yield Stretch(group, start, stop, tuple(_parts(group.blobs, start, stop)))


def _parts(blobs: Sequence[FlatBlob], start: int, stop: int) -> Iterator[GroupPart]:
    at = start
    for blob in blobs:
        first, last = max(blob.start, start), min(blob.stop, stop)
        if first >= last:
            continue
        if at < first:
            yield GroupPart(None, at, first)
        yield GroupPart(blob, first - blob.start, last - blob.start)
        at = last
    if at < stop:
        yield GroupPart(None, at, stop)
