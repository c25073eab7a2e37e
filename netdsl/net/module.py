"""A built net as a single torch module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import torch
from torch import Tensor, nn

from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer, Loss
from netdsl.layer.running import (
    OF_TWO_BYTES,
    MakesNewMemory,
    MergesWithNext,
    OverwritesBottom,
    ReadsInBackward,
    at_least_single,
)
from netdsl.net.build import Built
from netdsl.net.caffe_gradients import last_edges, run_as_caffe
from netdsl.net.freed_memory import keep_freed_memory
from netdsl.net.graph import Phase
from netdsl.net.learning import cut_of, losses_of
from netdsl.net.memory import allocate_layers
from netdsl.net.memory_format import Wish, channels_last_pays, laid_out, lay_out_filters, wish_of


@dataclass(frozen=True)
class Step:
    """The run of one layer: the edges that it reads and writes, and the edges that no layer needs afterwards."""

    key: str
    following: str | None  # the layer that is computed together with this one
    bottoms: tuple[int, ...]
    tops: tuple[int, ...]
    unneeded: tuple[int, ...]
    cut: tuple[int, ...]  # positions of bottoms that don't get a gradient
    wish: Wish  # the preferred layout of the bottoms


class NetModule(nn.Module):
    """Runs the layers in order.

    `forward` accepts the inputs by position or by name, and returns the outputs by name. `layers` contains the layers
    under keys that torch allows, and `keys` contains the key of every layer, in order. With `caffe_gradients`, layers
    whose blobs Caffe overwrites have Caffe's gradients, for the data that it finds there. By default, all layers have
    the true gradients.
    """

    def __init__(self, built: Built, *, caffe_gradients: bool = False) -> None:
        super().__init__()
        self.built = built
        self.keys = _keys([node.layer.name for node in built.graph.nodes])
        self.layers = nn.ModuleDict(dict(zip(self.keys, built.layers, strict=True)))
        self.inputs = {built.graph.blobs[edge]: edge for edge in built.input_edges()}
        self.outputs = {built.graph.blobs[edge]: edge for edge in built.graph.outputs}
        self.losses = losses_of(built)
        self.channels_last = channels_last_pays(built)
        last = last_edges(built) if caffe_gradients else {}
        self._as_caffe = {self.keys[index]: edges for index, edges in last.items()}
        self._contents = {edge for edges in last.values() for edge in (*edges.bottoms, *edges.tops)}
        kept = {*self.outputs.values(), *self.losses, *self._contents}
        self.steps = _steps(built, self.keys, kept)
        if not last:
            _let_overwrite(built, kept)
        self.train(built.graph.phase is Phase.TRAIN)

    def allocate(self, device: torch.device | str = "cpu") -> NetModule:
        """Allocate blobs that don't have memory yet, with their first values, and lay out filters for many passes.

        On a CPU, the process keeps the memory that it frees from now on.
        """
        if torch.device(device).type == "cpu":
            keep_freed_memory()
        allocate_layers(self.built, device)
        lay_out_filters(self.built)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Apply a function to all parameters and buffers, and restore the sharing of buffers.

        torch moves and converts every buffer separately, so buffers that layers share are joined again.
        """
        first: dict[int, tuple[Layer, str]] = {}
        shared = []
        for layer in self.built.layers:
            for name, buffer in layer.named_buffers():
                owner = first.setdefault(id(buffer), (layer, name))
                if owner[0] is not layer:
                    shared.append((layer, name, *owner))
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for layer, name, owner_layer, owned in shared:
            setattr(layer, name, getattr(owner_layer, owned))
        return self

    def forward(self, *inputs: Tensor, **named: Tensor) -> dict[str, Tensor]:
        """Return the outputs of the net."""
        edges = self.run(self.edges_of(*inputs, **named))
        return {name: edges[edge] for name, edge in self.outputs.items()}

    def edges_of(self, *inputs: Tensor, **named: Tensor) -> dict[int, Tensor]:
        """Return the inputs by edge."""
        values = dict(zip(self.inputs, inputs, strict=False)) | named
        unknown = [name for name in values if name not in self.inputs]
        if unknown or len(values) < len(self.inputs) or len(inputs) > len(self.inputs):
            names = ", ".join(self.inputs) or "none"
            raise NetError(
                f"the inputs of this net are {names}, but {', '.join(values) or 'none'} were given; give each input "
                "once"
            )
        return {self.inputs[name]: value for name, value in values.items()}

    def run(self, edges: dict[int, Tensor]) -> dict[int, Tensor]:
        """Run all layers on the edges of inputs. The returned edges include the outputs and the losses."""
        contents = {edge: edges[edge].detach() for edge in self._contents & edges.keys()}
        layers = self.layers  # torch looks up a module slowly, which slows small nets down
        for step in self.steps:
            bottoms = self._bottoms(step, edges)
            for position in step.cut:
                if bottoms[position].requires_grad:
                    bottoms[position] = bottoms[position].detach()
            for edge, top in zip(step.tops, self._tops(step, layers, bottoms, contents), strict=False):
                edges[edge] = top
                if edge in self._contents:
                    contents[edge] = top.detach()
            for edge in step.unneeded:
                del edges[edge]
        if self.channels_last:
            edges |= {edge: edges[edge].contiguous() for edge in self.outputs.values()}
        return edges

    def _bottoms(self, step: Step, edges: dict[int, Tensor]) -> list[Tensor]:
        """Return the bottoms of a step. A bottom that is converted to another layout stays converted for later
        readers."""
        if self.channels_last and step.wish is not Wish.ANY:
            for edge in step.bottoms:
                edges[edge] = laid_out(edges[edge], step.wish)
        return [edges[edge] for edge in step.bottoms]

    def _tops(
        self, step: Step, layers: nn.ModuleDict, bottoms: list[Tensor], contents: Mapping[int, Tensor]
    ) -> tuple[Tensor, ...]:
        """Return the tops of a step. By the end of the pass, `contents` will hold the data in Caffe's memory."""
        layer = layers[step.key]
        if step.following is not None:
            return (_top_of_both(layer, layers[step.following], bottoms),)
        if step.key in self._as_caffe and torch.is_grad_enabled():
            assert isinstance(layer, ReadsInBackward)
            return run_as_caffe(layer, self._as_caffe[step.key], contents, bottoms)
        tops = _loss_of(layer, bottoms) if isinstance(layer, Loss) else layer(*bottoms)
        tops = tops if isinstance(tops, tuple) else (tops,)
        assert isinstance(layer, Layer)
        # No layer overwrites the values that hooks keep.
        return tuple(top.clone() for top in tops) if layer.has_hooks() else tops

    def loss(self, edges: Mapping[int, Tensor]) -> Tensor:
        """Return Caffe's loss: the sum of every top times its loss weight."""
        terms = [_weighed(at_least_single(edges[edge]), weight) for edge, weight in self.losses.items()]
        if not terms:
            raise NetError("this net has no loss; add a loss layer, or set loss_weight in a layer")
        return reduce(torch.add, terms)


def _top_of_both(layer: nn.Module, following: nn.Module, bottoms: Sequence[Tensor]) -> Tensor:
    """Return the top of a layer that is computed together with the one before it. Hooks see each layer separately."""
    assert isinstance(layer, MergesWithNext) and isinstance(following, Layer)
    if layer.has_hooks() or following.has_hooks():
        top: Tensor = following(layer(*bottoms))
        return top.clone()
    return layer.forward_merged(following, *bottoms)


def _weighed(top: Tensor, weight: float) -> Tensor:
    """Return the sum of a top, times its weight. Operations without effect are skipped, because each one slows small
    nets down."""
    total = top.sum() if top.dim() else top
    return total if weight == 1 else weight * total


def _loss_of(layer: Loss, bottoms: Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return a loss layer's tops.

    Sums over a batch overflow two-byte numbers, so the loss is computed in at least single precision.
    """
    if not any(bottom.dtype in OF_TWO_BYTES for bottom in bottoms):
        return layer(*bottoms)  # type: ignore[no-any-return]
    device = "cpu" if bottoms[0].is_meta else bottoms[0].device.type
    with torch.autocast(device, enabled=False):
        return layer(*map(at_least_single, bottoms))  # type: ignore[no-any-return]


def _keys(names: list[str]) -> list[str]:
    """Return a unique key for each layer that torch accepts: not empty and without dots."""
    keys: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = name.replace(".", "_") or "layer"
        plain = f"{plain}_" if hasattr(nn.ModuleDict, plain) else plain
        key, rank = plain, 2
        while key in taken:
            key, rank = f"{plain}_{rank}", rank + 1
        taken.add(key)
        keys.append(key)
    return keys


def _steps(built: Built, keys: list[str], kept: set[int]) -> list[Step]:
    """Return the steps of the layers that run.

    An edge is released after its last reader, so that memory is freed early.
    """
    nodes = built.graph.nodes
    last = {edge: index for index, node in enumerate(nodes) for edge in (*node.bottoms, *node.tops)}
    merged = _merged(built, kept)
    steps = []
    for index, (node, layer, key) in enumerate(zip(nodes, built.layers, keys, strict=True)):
        if isinstance(layer, BringsData) or index in merged.values():
            continue
        end = merged.get(index, index)  # edges that the following layer would release are released here
        ends_here = [
            edge for edge in (*node.bottoms, *nodes[end].tops) if last[edge] in (index, end) and edge not in kept
        ]
        following = keys[end] if end != index else None
        unneeded, cut = tuple(dict.fromkeys(ends_here)), cut_of(built, node, layer)
        steps.append(Step(key, following, node.bottoms, nodes[end].tops, unneeded, cut, wish_of(layer)))
    return steps


def _let_overwrite(built: Built, kept: set[int]) -> None:
    """Tell layers which bottoms they may overwrite: those in new memory that no other layer reads."""
    pairs = built.pairs()
    readers = Counter(edge for node, _ in pairs for edge in node.bottoms)
    new = {edge for node, layer in pairs if isinstance(layer, MakesNewMemory) for edge in node.tops}
    unshared = {edge for edge in new if readers[edge] == 1} - kept
    for node, layer in pairs:
        if isinstance(layer, OverwritesBottom):
            layer.may_overwrite = tuple(place for place, edge in enumerate(node.bottoms) if edge in unshared)


def _merged(built: Built, kept: set[int]) -> dict[int, int]:
    """Return the layers that are computed together with an earlier one.

    Each is the only reader of the earlier layer's only top, and the earlier layer can do its work.
    """
    nodes, readers = built.graph.nodes, Counter(edge for node in built.graph.nodes for edge in node.bottoms)
    makers = {node.tops[0]: index for index, node in enumerate(nodes) if len(node.tops) == 1}
    merged: dict[int, int] = {}
    for index, node in enumerate(nodes):
        maker = makers.get(node.bottoms[0]) if len(node.bottoms) == 1 and len(node.tops) == 1 else None
        if maker is None or readers[node.bottoms[0]] > 1 or node.bottoms[0] in kept or maker in merged.values():
            continue
        first, second = built.layers[maker], built.layers[index]
        if isinstance(first, MergesWithNext) and not cut_of(built, node, second) and first.merges_with(second):
            merged[maker] = index
    return merged
