"""Forward and backward passes of a single layer on the current values of its blobs, as in Caffe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from caffe_proto.locations import error_label
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer
from netdsl.layer.user_code import RunsUserCode
from netdsl.pycaffe import modes
from netdsl.pycaffe.gradient_needs import GradientNeeds
from netdsl.pycaffe.memory import ActivationMemory, ParameterMemory


class LayerRunner:
    """Runs a layer on its blobs. Gradients of bottoms are overwritten, those of parameters accumulate.

    A forward pass records autograd's graph for this layer alone, so that a backward pass can begin and end at any
    layer, with the gradients that are in its tops.
    """

    def __init__(
        self, layer: Layer, bottoms: Sequence[ActivationMemory], tops: Sequence[ActivationMemory], needs: GradientNeeds
    ) -> None:
        self.layer, self.bottoms, self.tops, self.needs = layer, bottoms, tops, needs
        self.feed: Callable[[], Sequence[Tensor]] | None = None  # the tops of a layer that reads data
        self._weights = layer.loss_weights()
        self._leaves: list[Tensor] = []
        self._results: tuple[Tensor, ...] | None = None

    def forward(self) -> float:
        """Compute the tops and return their contribution to the loss."""
        for top, result in zip(self.tops, self._compute_tops(), strict=False):
            self._put(top, result)
        pairs = (top for top, weight in zip(self.tops, self._weights, strict=True) if weight)
        return sum(float((top.data.read() * top.diff.read()).sum()) for top in pairs)

    def _compute_tops(self) -> Sequence[Tensor]:
        if self.feed is not None:
            return modes.divide(self.feed())
        return () if isinstance(self.layer, BringsData) else self._record()

    def _record(self) -> tuple[Tensor, ...]:
        with torch.enable_grad(), self._named_errors():
            self._leaves = [self._leaf(*pair) for pair in zip(self.bottoms, self.needs.bottoms, strict=True)]
            results = self.layer(*self._leaves)
        self._results = results if isinstance(results, tuple) else (results,)
        return self._results

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Add the layer's place and name to errors, but not to those of a layer written in Python."""
        try:
            yield
        except NetError as problem:
            raise type(problem)(f"{error_label(self.layer.layer)}: {problem}") from problem
        except RuntimeError as problem:
            if isinstance(problem, torch.OutOfMemoryError) or isinstance(self.layer, RunsUserCode):
                raise
            layer, reason = self.layer.layer, str(problem).partition("\n")[0]
            raise NetError(f"{error_label(layer)} ({layer.type}): {reason}") from problem

    def _leaf(self, bottom: ActivationMemory, needs_gradient: bool) -> Tensor:
        """A leaf of autograd's graph for a bottom; a copy if the layer would overwrite it in place."""
        values = bottom.data.read()
        values = values.clone() if bottom in self.tops and bottom.data.is_exposed else values.detach()
        return values.requires_grad_(needs_gradient)

    def _put(self, top: ActivationMemory, result: Tensor) -> None:
        result = result.detach()
        if any(_is_same_memory(result, tensor) for tensor in (*self.layer.buffers(), *self.layer.parameters())):
            top.data.adopt(result)  # Caffe's rule: writing to such a top changes the constant or parameter
        elif any(_shares_memory(result, bottom.data.read()) for bottom in self.bottoms if bottom.data.is_exposed):
            top.data.put(result.clone())  # otherwise writing to the bottom would change the top
        else:
            top.data.put(result)
        top.diff.resize(top.shape)

    def backward(self) -> None:
        """Compute the gradients of bottoms and parameters from those in the tops."""
        if not self.needs.layer or isinstance(self.layer, BringsData):
            return
        results = self._results if self._results is not None else self._record()
        self._refresh_leaves()
        leaves = [pair for pair in zip(self.bottoms, self._leaves, strict=True) if pair[1].requires_grad]
        learned = self._learned()
        with self._named_errors():
            gradients = _gradients(zip(results, self.tops, strict=False), [leaf for _, leaf in leaves], learned)
        for (bottom, leaf), gradient in zip(leaves, gradients, strict=False):
            bottom.diff.put(torch.zeros_like(leaf) if gradient is None else gradient)
        for blob, gradient in zip(learned, gradients[len(leaves) :], strict=True):
            if gradient is not None:
                blob.gradient().add_(gradient.reshape(blob.shape))

    def _refresh_leaves(self) -> None:
        """Copy what was written to bottoms since the forward pass, as Caffe uses it."""
        for bottom, leaf in zip(self.bottoms, self._leaves, strict=True):
            values = bottom.data.read()
            if bottom not in self.tops and values.shape == leaf.shape and values.data_ptr() != leaf.data_ptr():
                leaf.data.copy_(values)

    def _learned(self) -> list[ParameterMemory]:
        blobs = {id(self.layer.owner_of(name)): ParameterMemory(self.layer, name) for name in self.layer.blob_names()}
        return [blob for blob in blobs.values() if self.layer.owner_of(blob.name).requires_grad]


def _is_same_memory(first: Tensor, second: Tensor) -> bool:
    return first.data_ptr() == second.data_ptr() and first.numel() == second.numel() > 0


def _shares_memory(first: Tensor, second: Tensor) -> bool:
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


def _gradients(
    tops: Iterable[tuple[Tensor, ActivationMemory]], leaves: list[Tensor], learned: list[ParameterMemory]
) -> Sequence[Tensor | None]:
    """The gradient of each leaf and each parameter, or None if the tops don't depend on it."""
    inputs = [*leaves, *(blob.layer.owner_of(blob.name) for blob in learned)]
    pairs = [(result, top.diff) for result, top in tops if result.requires_grad]
    if not pairs or not inputs:
        return [None] * len(inputs)
    top_gradients = [diff.read().reshape(result.shape) for result, diff in pairs]
    top_gradients = [
        gradient.clone() if diff.is_exposed else gradient
        for gradient, (_, diff) in zip(top_gradients, pairs, strict=True)
    ]
    return torch.autograd.grad(
        [result for result, _ in pairs], inputs, top_gradients, retain_graph=True, allow_unused=True
    )
