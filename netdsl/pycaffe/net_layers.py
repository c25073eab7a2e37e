"""The layers of a pycaffe net: their interface for scripts, and their passes on the current values of their blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from caffe_proto.copies import copy_of
from caffe_proto.locations import error_label
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer
from netdsl.layer.user_code import RunsUserCode
from netdsl.net.build import Built, at_layer
from netdsl.net.graph import Node
from netdsl.pycaffe import process
from netdsl.pycaffe.blob import ActivationMemory, Blob, ParameterMemory


class NetLayer:
    """The type and blobs of a layer. For a layer written in Python, it also has the attributes of the user's object."""

    layer: Layer
    type: str
    blobs: list[Blob]

    def __init__(self, layer: Layer) -> None:
        blobs = [Blob(ParameterMemory(layer, name)) for name in layer.blob_names()]
        self.__dict__.update(layer=layer, type=layer.layer.type, blobs=blobs)

    def setup(self, bottom: Sequence[Blob], top: Sequence[Blob]) -> None:
        """Check that the layer's settings fit these bottoms. A layer written in Python runs its own `setup`."""
        if isinstance(self.layer, RunsUserCode):
            self.layer.user.setup(bottom, top)
        else:
            message = copy_of(self.layer.layer)
            with at_layer(message):
                type(self.layer)(message, [blob.shape for blob in bottom])

    def reshape(self, bottom: Sequence[Blob], top: Sequence[Blob]) -> None:
        """Set the shapes of the tops from those of the bottoms."""
        if isinstance(self.layer, RunsUserCode):
            self.layer.user.reshape(bottom, top)
            return
        with at_layer(self.layer.layer):
            shapes = self.layer.top_shapes([blob.shape for blob in bottom])
        for blob, shape in zip(top, shapes, strict=False):
            blob.reshape(*shape)

    def _written_in_python(self) -> Any:
        layer = vars(self)["layer"]
        return layer.user if isinstance(layer, RunsUserCode) else None

    def __getattr__(self, name: str) -> Any:
        user = self._written_in_python() if "layer" in vars(self) else None
        if user is None:
            raise AttributeError(f"a layer has the attributes type and blobs, but not '{name}'")
        return getattr(user, name)

    def __setattr__(self, name: str, value: Any) -> None:
        user = self._written_in_python()
        if user is None or name in vars(self):
            super().__setattr__(name, value)
        else:
            setattr(user, name, value)


class LayerRunner:
    """Runs a layer on its blobs. Gradients of bottoms are overwritten, and those of parameters accumulate.

    A forward pass records autograd's graph for this layer alone. A backward pass can therefore start and end at any
    layer, with the gradients that its tops contain.
    """

    def __init__(
        self, layer: Layer, bottoms: Sequence[ActivationMemory], tops: Sequence[ActivationMemory], needs: GradientNeeds
    ) -> None:
        self.layer, self.bottoms, self.tops, self.needs = layer, bottoms, tops, needs
        self.feed: Callable[[], Sequence[Tensor]] | None = None  # returns the tops of a layer that reads data
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
            return process.divide(self.feed())
        return () if isinstance(self.layer, BringsData) else self._record()

    def _record(self) -> tuple[Tensor, ...]:
        with torch.enable_grad(), self._named_errors():
            self._leaves = [self._leaf(*pair) for pair in zip(self.bottoms, self.needs.bottoms, strict=True)]
            results = self.layer(*self._leaves)
        self._results = results if isinstance(results, tuple) else (results,)
        return self._results

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Add the layer's place and name to errors, except to those of a layer written in Python."""
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
        """Return a leaf of autograd's graph for a bottom. It is a copy if the layer would overwrite it in place."""
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
        """Compute the gradients of bottoms and parameters from those of the tops."""
        if not self.needs.layer or isinstance(self.layer, BringsData):
            return
        results = self._results if self._results is not None else self._record()
        self._refresh_leaves()
        leaves = [pair for pair in zip(self.bottoms, self._leaves, strict=True) if pair[1].requires_grad]
        learned = self._learned()
        with self._named_errors():
            gradients = _gradients_of(zip(results, self.tops, strict=False), [leaf for _, leaf in leaves], learned)
        for (bottom, leaf), gradient in zip(leaves, gradients, strict=False):
            bottom.diff.put(torch.zeros_like(leaf) if gradient is None else gradient)
        for blob, gradient in zip(learned, gradients[len(leaves) :], strict=True):
            if gradient is not None:
                blob.gradient().add_(gradient.reshape(blob.shape))

    def _refresh_leaves(self) -> None:
        """Copy values that a script wrote to bottoms after the forward pass, because Caffe uses them."""
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


def _gradients_of(
    tops: Iterable[tuple[Tensor, ActivationMemory]], leaves: list[Tensor], learned: list[ParameterMemory]
) -> Sequence[Tensor | None]:
    """Return the gradient of each leaf and each parameter, or `None` if the tops don't depend on it."""
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


@dataclass(frozen=True)
class GradientNeeds:
    """Whether the backward pass runs a layer, and which of its bottoms get a gradient."""

    layer: bool
    bottoms: tuple[bool, ...]


def gradient_needs(numbered_layers: list[LayerBlobNumbers], layers: list[Layer], *, force: bool) -> list[GradientNeeds]:
    """Return the layers' needs.

    Caffe's rule: gradients are computed between losses and learned parameters, or with `force` everywhere.
    """
    needs = _below_loss(numbered_layers, layers, _towards_learning(numbered_layers, layers))
    if force:
        needs = [GradientNeeds(True, (True,) * len(need.bottoms)) for need in needs]
    return [
        GradientNeeds(
            need.layer, tuple(needed and index not in layer.no_gradient for index, needed in enumerate(need.bottoms))
        )
        for need, layer in zip(needs, layers, strict=True)
    ]


def _towards_learning(numbered_layers: list[LayerBlobNumbers], layers: list[Layer]) -> list[GradientNeeds]:
    """Return the needs in forward order: a layer needs a gradient if it learns, or reads a blob that needs one.

    `propagate_down` overrides this for each bottom.
    """
    needing: set[int] = set()
    needs = []
    for blobs, layer in zip(numbered_layers, layers, strict=True):
        bottom_needs = [blob in needing for blob in blobs.bottoms]
        layer_need = any(bottom_needs) or _learns(layer)
        needs.append(GradientNeeds(layer_need, tuple(layer.layer.propagate_down or bottom_needs)))
        if layer_need:
            needing.update(blobs.tops)
    return needs


def _below_loss(
    numbered_layers: list[LayerBlobNumbers], layers: list[Layer], before: list[GradientNeeds]
) -> list[GradientNeeds]:
    """Return the needs in backward order.

    Only layers on which a loss depends need a gradient, up to the point where all gradients stop.
    """
    counting: set[int] = set()
    stopped: set[int] = set()
    needs = []
    for blobs, layer, need in reversed(list(zip(numbered_layers, layers, before, strict=True))):
        counts = any(layer.loss_weights()) or not counting.isdisjoint(blobs.tops)
        skipped = need.layer and stopped.issuperset(blobs.tops)
        bottoms = tuple(needed and counts and not skipped for needed in need.bottoms)
        if counts:
            counting.update(blobs.bottoms)
        stopped.update(blob for blob, needed in zip(blobs.bottoms, bottoms, strict=True) if not needed)
        needs.append(GradientNeeds(need.layer and counts and not skipped, bottoms))
    return needs[::-1]


def _learns(layer: Layer) -> bool:
    owned = (layer.owner_of(name) for name in layer.blob_names())
    return any(isinstance(tensor, nn.Parameter) and tensor.requires_grad for tensor in owned)


@dataclass(frozen=True)
class LayerBlobNumbers:
    """The numbers of a layer's blobs."""

    bottoms: tuple[int, ...]
    tops: tuple[int, ...]


@dataclass
class BlobNumbers:
    """The blobs of a net, numbered in the order in which layers create them.

    An in-place top is the same blob as its bottom. `blobs` contains the number of each edge's blob, in the order of the
    layers.
    """

    names: list[str] = field(default_factory=list)
    blobs: dict[int, int] = field(default_factory=dict)
    layers: list[LayerBlobNumbers] = field(default_factory=list)

    def edges(self) -> list[int]:
        """Return the last edge of each blob, which determines its shape."""
        last = {blob: edge for edge, blob in self.blobs.items()}
        return [last[blob] for blob in range(len(self.names))]


def number_blobs(built: Built) -> BlobNumbers:
    """Assign a number to each blob of a net."""
    numbers = BlobNumbers()
    for node in built.graph.nodes:
        bottoms = tuple(numbers.blobs[edge] for edge in node.bottoms)
        tops = tuple(_number_of_top(numbers, node, index, bottoms) for index in range(len(node.tops)))
        numbers.blobs.update(zip(node.tops, tops, strict=True))
        numbers.layers.append(LayerBlobNumbers(bottoms, tops))
    return numbers


def _number_of_top(numbers: BlobNumbers, node: Node, index: int, bottoms: tuple[int, ...]) -> int:
    name = node.layer.top[index]
    if index < len(bottoms) and node.layer.bottom[index] == name:
        return bottoms[index]
    numbers.names.append(name)
    return len(numbers.names) - 1
