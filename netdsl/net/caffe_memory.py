"""Models where blobs are in Caffe's memory, and which layers read them after layers in place overwrote them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from caffe_proto.errors import few
from netdsl.layer import Layer
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward, SharesMemory
from netdsl.net.build import Built
from netdsl.net.graph import Node, Phase
from netdsl.net.learning import cut_of, learned_blobs, learning_edges, losses_of

_NAMED = 3  # the number of layers that a note names


@dataclass
class _Memory:
    """A piece of memory: the edges that were written there in turn, and the part of the earlier data that each write
    kept."""

    written: list[int]
    kept: list[frozenset[Reads]] = field(default_factory=lambda: [frozenset()])
    several_readers: bool = False


class CaffeMemory:
    """Caffe's memory for the edges of a net after a forward pass.

    Layers in place overwrite their bottom, and the tops of some layers share the memory of their bottom. If a layer
    reads a blob that a layer in place then overwrites, Caffe refuses the net. It accepts the net if the layer reads the
    blob under another name.
    """

    def __init__(self, built: Built) -> None:
        self._built = built
        self._readers = Counter(edge for node in built.graph.nodes for edge in node.bottoms)
        self._places: dict[int, tuple[_Memory, int]] = {}  # the memory of each edge, and the index of the write
        self.late_readers: list[int] = []  # layers whose bottoms are overwritten before their forward pass
        self.refused: list[int] = []  # layers in place whose bottom other layers read
        for index, (node, layer) in enumerate(built.pairs()):
            if any(self._later_writes(edge) for edge in node.bottoms):
                self.late_readers.append(index)
            for place, edge in enumerate(node.tops):
                if self._keeps_name(node, place) and not self.is_over_bottom(node, place):
                    self.refused.append(index)
                self._place(node, layer, place, edge)

    def _place(self, node: Node, layer: Layer, place: int, edge: int) -> None:
        if self.is_over_bottom(node, place):
            memory = self._places[node.bottoms[place]][0]
            memory.written.append(edge)
            memory.kept.append(frozenset() if memory.several_readers else _kept_by(layer))
            self._places[edge] = memory, len(memory.written) - 1
        elif isinstance(layer, SharesMemory) and layer.shares_memory():
            memory = self._places[node.bottoms[0]][0]
            memory.several_readers |= len(node.tops) > 1
            self._places[edge] = self._places[node.bottoms[0]]
        else:
            memory = _Memory([edge])
            self._places[edge] = memory, 0
        memory.several_readers |= self._readers[edge] > 1

    def is_over_bottom(self, node: Node, place: int = 0) -> bool:
        """Return whether a layer writes a top over its bottom at the same position."""
        return self._keeps_name(node, place) and self._readers[node.bottoms[place]] == 1

    def _keeps_name(self, node: Node, place: int) -> bool:
        blobs = self._built.graph.blobs
        both = place < min(len(node.bottoms), len(node.tops))
        return both and blobs[node.bottoms[place]] == blobs[node.tops[place]]

    def last(self, edge: int) -> int:
        """Return the edge whose data are in an edge's memory at the end."""
        return self._places[edge][0].written[-1]

    def _later_writes(self, edge: int) -> int:
        memory, number = self._places[edge]
        return len(memory.written) - number - 1

    def is_lost(self, edge: int, reads: Reads) -> bool:
        """Return whether the part of an edge's data that a layer reads is lost at the end."""
        memory, number = self._places[edge]
        return reads is not Reads.NOTHING and any(reads not in kept for kept in memory.kept[number + 1 :])


def _kept_by(layer: Layer) -> frozenset[Reads]:
    """Return the part of its bottom that a layer in place keeps, if no other layer passes a gradient to the bottom."""
    if not isinstance(layer, KeepsSigns) or not layer.keeps_signs():
        return frozenset()
    return frozenset({Reads.SIGNS, Reads.PASSED} if layer.keeps_passed() else {Reads.SIGNS})


def differing_gradients(built: Built, memory: CaffeMemory) -> list[int]:
    """Return the indices of layers whose gradients differ from Caffe's, because Caffe finds other data or gradients."""
    return [
        index
        for index in _backward(built)
        if isinstance(layer := built.layers[index], ReadsInBackward)
        and _differs(built.graph.nodes[index], layer, memory)
    ]


def _differs(node: Node, layer: ReadsInBackward, memory: CaffeMemory) -> bool:
    reads = ((node.bottoms, layer.reads_bottoms()), (node.tops, layer.reads_tops()))
    return (memory.is_over_bottom(node) and layer.loses_gradient()) or any(
        memory.is_lost(edge, what) for edges, what in reads for edge in edges
    )


def _backward(built: Built) -> list[int]:
    """Return the indices of layers that run backward.

    They learn or follow layers that do, and a loss depends on them.
    """
    learning, leading = learning_edges(built), set(losses_of(built))
    found = []
    for index, (node, layer) in reversed(list(enumerate(built.pairs()))):
        if not leading.intersection(node.tops):
            continue
        cut = cut_of(built, node, layer)
        passed = {edge for place, edge in enumerate(node.bottoms) if place not in cut}
        leading |= passed
        if learned_blobs(layer) or passed & learning:
            found.append(index)
    return found[::-1]


def memory_notes(built: Built, *, caffe_gradients: bool = False) -> list[str]:
    """Return notes on gradients or values that differ from Caffe's because layers in place overwrite blobs."""
    memory = CaffeMemory(built)
    notes = []
    differing = differing_gradients(built, memory) if built.graph.phase is Phase.TRAIN else []
    if differing and not caffe_gradients:
        notes.append(
            f"the gradients of {_names(built, differing)} differ from Caffe's, which reads blobs after layers "
            "in place overwrote them; to compute Caffe's gradients, use --caffe-gradients; see "
            "docs/caffe_differences.md"
        )
    if memory.late_readers:
        notes.append(
            f"{_names(built, memory.late_readers)}: Caffe finds other values in the bottoms, because a layer in "
            "place overwrote the memory that they share; see docs/caffe_differences.md"
        )
    if memory.refused:
        notes.append(
            f"{_names(built, memory.refused)}: Caffe refuses to change a blob in place if another layer reads "
            "it; here each layer reads the blob's value at the layer's position in the file; see "
            "docs/caffe_differences.md"
        )
    return notes


def _names(built: Built, indices: list[int]) -> str:
    names = few((f"'{built.graph.nodes[index].layer.name}'" for index in indices), _NAMED)
    return f"layer{'' if len(indices) == 1 else 's'} {names}"
