"""One layer at work, as Caffe runs it: on what is in its blobs at that moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer
from netdsl.layer.user_code import RunsUserCode
from netdsl.pycaffe.memory import Activation, Learned
from netdsl.pycaffe.needs import Need


class Turn:
    """A layer with its blobs. Gradients of bottoms are written over, those of parameters are added.

    A forward pass records what autograd needs for this layer alone, so that a backward pass can begin and end
    anywhere, and start from whatever gradients are in the tops.
    """

    def __init__(self, layer: Layer, bottoms: Sequence[Activation], tops: Sequence[Activation], need: Need) -> None:
        self.layer, self.bottoms, self.tops, self.need = layer, bottoms, tops, need
        self.feed: Callable[[], Sequence[Tensor]] | None = None  # the tops of a layer that reads data
        self._weights = layer.loss_weights()
        self._leaves: list[Tensor] = []
        self._results: tuple[Tensor, ...] | None = None

    def forward(self) -> float:
        """Compute the tops; what comes back is their share of the loss."""
        for top, result in zip(self.tops, self._made(), strict=False):
            self._put(top, result)
        pairs = (top for top, weight in zip(self.tops, self._weights, strict=True) if weight)
        return sum(float((top.data.read() * top.diff.read()).sum()) for top in pairs)

    def _made(self) -> Sequence[Tensor]:
        if self.feed is not None:
            return self.feed()
        return () if isinstance(self.layer, BringsData) else self._record()

    def _record(self) -> tuple[Tensor, ...]:
        with torch.enable_grad(), self._named():
            self._leaves = [self._leaf(*pair) for pair in zip(self.bottoms, self.need.bottoms, strict=True)]
            results = self.layer(*self._leaves)
        self._results = results if isinstance(results, tuple) else (results,)
        return self._results

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Give errors of torch the layer's name; what a layer written in Python raises is its own business."""
        try:
            yield
        except RuntimeError as problem:
            if isinstance(problem, torch.OutOfMemoryError) or isinstance(self.layer, RunsUserCode):
                raise
            layer, reason = self.layer.layer, str(problem).partition("\n")[0]
            raise NetError(f"layer '{layer.name}' ({layer.type}): {reason}") from problem

    def _leaf(self, bottom: Activation, wanted: bool) -> Tensor:
        """A bottom for autograd, kept from being written over if the layer works in place."""
        values = bottom.data.read()
        values = values.clone() if bottom in self.tops and bottom.data.stays else values.detach()
        return values.requires_grad_(wanted)

    def _put(self, top: Activation, result: Tensor) -> None:
        result = result.detach()
        if any(_same(result, own) for own in (*self.layer.buffers(), *self.layer.parameters())):
            top.data.adopt(result)  # Caffe's rule: a constant, or a blob that is a parameter, is what one writes to it
        elif any(_overlap(result, bottom.data.read()) for bottom in self.bottoms if bottom.data.stays):
            top.data.put(result.clone())  # or writing to the bottom would be seen in the top
        else:
            top.data.put(result)
        top.diff.resize(top.shape)

    def backward(self) -> None:
        """Compute the gradients that are wanted from those in the tops."""
        if not self.need.layer or isinstance(self.layer, BringsData):
            return
        results = self._results if self._results is not None else self._record()
        self._refresh()
        wanted = [pair for pair in zip(self.bottoms, self._leaves, strict=True) if pair[1].requires_grad]
        learned = self._learned()
        with self._named():
            gradients = _gradients(zip(results, self.tops, strict=False), [leaf for _, leaf in wanted], learned)
        for (bottom, leaf), gradient in zip(wanted, gradients, strict=False):
            bottom.diff.put(torch.zeros_like(leaf) if gradient is None else gradient)
        for blob, gradient in zip(learned, gradients[len(wanted) :], strict=True):
            if gradient is not None:
                blob.gradient().add_(gradient.reshape(blob.shape))

    def _refresh(self) -> None:
        """What was written to a bottom since the forward pass counts, as in Caffe."""
        for bottom, leaf in zip(self.bottoms, self._leaves, strict=True):
            now = bottom.data.read()
            if bottom not in self.tops and now.shape == leaf.shape and now.data_ptr() != leaf.data_ptr():
                leaf.data.copy_(now)

    def _learned(self) -> list[Learned]:
        blobs = {id(self.layer.owner_of(name)): Learned(self.layer, name) for name in self.layer.blob_names()}
        return [blob for blob in blobs.values() if self.layer.owner_of(blob.name).requires_grad]


def _same(one: Tensor, other: Tensor) -> bool:
    return one.data_ptr() == other.data_ptr() and one.numel() == other.numel() > 0


def _overlap(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _gradients(
    tops: Iterable[tuple[Tensor, Activation]], leaves: list[Tensor], learned: list[Learned]
) -> Sequence[Tensor | None]:
    """The gradient of each leaf and each learned blob, or None where the tops don't depend on it."""
    inputs = [*leaves, *(blob.layer.owner_of(blob.name) for blob in learned)]
    pairs = [(result, top.diff) for result, top in tops if result.requires_grad]
    if not pairs or not inputs:
        return [None] * len(inputs)
    given = [diff.read().reshape(result.shape) for result, diff in pairs]
    given = [gradient.clone() if diff.stays else gradient for gradient, (_, diff) in zip(given, pairs, strict=True)]
    return torch.autograd.grad([result for result, _ in pairs], inputs, given, retain_graph=True, allow_unused=True)
