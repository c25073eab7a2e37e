"""The cost of every layer of a net: its operations in both passes, and the bytes that it holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from netdsl.layer import BringsData, Layer
from netdsl.layer.running import MergesWithNext, NeedsValues
from netdsl.net.build import Built, running
from netdsl.net.graph import Node
from netdsl.net.learning import cut_of, learned_blobs, learning_edges
from netdsl.net.module import NetModule, Step
from netdsl.planner.operations import OperationKind, OperationRecorder, TensorOperation, tensor_bytes, without_values

VALUE_BYTES = 4  # bytes of a value of a blob


@dataclass(frozen=True)
class LayerCost:
    """The operations of one layer, and the bytes that it holds, with the net's batch.

    A layer that runs as part of the previous layer has no operations.

    `bottom_bytes`, `activation_bytes` (for its tops) and `parameter_bytes` (for all its blobs) are sizes of values.
    They don't consider whether a layer overwrites its bottom or shares blobs with others.
    """

    name: str
    type: str
    forward: tuple[TensorOperation, ...]
    backward: tuple[TensorOperation, ...]
    bottom_bytes: int
    activation_bytes: int
    parameter_bytes: int
    largest_blob: int  # number of values in the largest bottom or top

    @property
    def flops(self) -> int:
        """The operations of products in a forward pass, or the number of values in the largest bottom or top if there
        are none."""
        products = sum(operation.flops for operation in self.forward if operation.kind is not OperationKind.OTHER)
        return products or self.largest_blob

    @property
    def bytes(self) -> int:
        """The smallest number of bytes that the layer must move in a forward pass."""
        return self.bottom_bytes + self.activation_bytes + self.parameter_bytes


def layer_costs(built: Built, device: torch.device | str = "cpu") -> tuple[LayerCost, ...]:
    """Return the costs of all layers of a net that run, in order, as the net runs them on a device of this type.

    Computes nothing and doesn't change the net, whose blobs need no memory.
    """
    with without_values(built, torch.device(device)), running(built):
        return tuple(_Measurement(NetModule(built)).costs())


class _Measurement:
    """One pass through a net in which every layer is differentiated separately."""

    def __init__(self, module: NetModule) -> None:
        self.module, self.built = module, module.built
        self.learning = learning_edges(module.built)
        self.edges = {edge: torch.empty(self.built.shapes[edge], device="meta") for edge in self.built.input_edges()}
        self.gradients = Counter[int]()  # number of layers that have a gradient for an edge

    def costs(self) -> Iterator[LayerCost]:
        """Yield the costs of the layers, except for those that only read data."""
        operations = {}
        for step in self.module.steps:
            bottoms, leaves = self._bottoms_and_leaves(step)
            recorder = OperationRecorder()
            with recorder:
                tops = self._run_forward(step, bottoms)
            self.edges.update(zip(step.tops, tops, strict=False))
            for edge in step.unneeded:
                del self.edges[edge]
            operations[step.key] = recorder.operations, self._run_backward(step, tops, leaves)
        for key, (node, layer) in zip(self.module.keys, self.built.pairs(), strict=True):
            if not isinstance(layer, BringsData):
                forward, backward = operations.get(key, ([], []))
                if isinstance(layer, NeedsValues):
                    forward, backward = self._once_over(node, layer)
                yield self._cost_of(node, layer, forward, [*self._gradient_sums(node), *backward])

    def _once_over(self, node: Node, layer: Layer) -> tuple[list[TensorOperation], list[TensorOperation]]:
        """Return an operation that reads the bottoms and writes the tops, and another for the gradients if there are
        any."""
        sizes = [math.prod(self.built.shapes[edge]) for edge in (*node.bottoms, *node.tops)]
        operation = TensorOperation(node.layer.type, max(sizes, default=0), VALUE_BYTES * sum(sizes))
        cut = cut_of(self.built, node, layer)
        learns = any(edge in self.learning for place, edge in enumerate(node.bottoms) if place not in cut)
        return [operation], [operation] if learns else []

    def _bottoms_and_leaves(self, step: Step) -> tuple[list[Tensor], dict[int, Tensor]]:
        """Return a layer's bottoms, and those that need a gradient, by place. The latter are leaves of the layer's
        graph."""
        leaves, bottoms = {}, []
        for place, edge in enumerate(step.bottoms):
            bottom = self.edges[edge].detach()
            if edge in self.learning and place not in step.cut and bottom.is_floating_point():
                leaves[place] = bottom.requires_grad_()
                bottom = bottom.clone()  # a leaf must not be overwritten
            bottoms.append(bottom)
        return bottoms, leaves

    def _run_forward(self, step: Step, bottoms: Sequence[Tensor]) -> tuple[Tensor, ...]:
        layer = self.module.layers[step.key]
        if step.following is None:
            tops = layer(*bottoms)
        else:
            following = self.module.layers[step.following]
            assert isinstance(layer, MergesWithNext) and isinstance(following, Layer)
            tops = layer.forward_merged(following, *bottoms)
        return tops if isinstance(tops, tuple) else (tops,)

    def _run_backward(self, step: Step, tops: Sequence[Tensor], leaves: Mapping[int, Tensor]) -> list[TensorOperation]:
        keys = [step.key] if step.following is None else [step.key, step.following]
        blobs = [blob for key in keys for blob in learned_blobs(cast(Layer, self.module.layers[key]))]
        ends, sources = [top for top in tops if top.requires_grad], [*leaves.values(), *blobs]
        if not ends or not sources:
            return []
        ones = [torch.ones_like(end) for end in ends]
        backward = OperationRecorder()
        with backward:
            found = torch.autograd.grad(ends, sources, ones, allow_unused=True)
        self.gradients.update(
            step.bottoms[place] for place, gradient in zip(leaves, found, strict=False) if gradient is not None
        )
        return backward.operations

    def _gradient_sums(self, node: Node) -> Iterator[TensorOperation]:
        """Yield the additions of gradients when several layers read the same top."""
        for edge in node.tops:
            values = math.prod(self.built.shapes[edge])
            for _ in range(self.gradients[edge] - 1):
                yield TensorOperation("add", values, 3 * VALUE_BYTES * values)

    def _cost_of(
        self, node: Node, layer: Layer, forward: list[TensorOperation], backward: list[TensorOperation]
    ) -> LayerCost:
        bottoms, tops = ([math.prod(self.built.shapes[edge]) for edge in edges] for edges in (node.bottoms, node.tops))
        return LayerCost(
            node.layer.name,
            node.layer.type,
            tuple(forward),
            tuple(backward),
            VALUE_BYTES * sum(bottoms),
            VALUE_BYTES * sum(tops),
            sum(map(tensor_bytes, layer.blob_tensors())),
            max([*bottoms, *tops], default=0),
        )
