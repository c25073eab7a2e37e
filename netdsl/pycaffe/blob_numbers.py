"""The numbers that Caffe gives to the blobs of a net."""

from __future__ import annotations

from dataclasses import dataclass, field

from netdsl.net.build import Built
from netdsl.net.graph import Node


@dataclass(frozen=True)
class LayerBlobNumbers:
    """The numbers of a layer's blobs."""

    bottoms: tuple[int, ...]
    tops: tuple[int, ...]


@dataclass
class BlobNumbers:
    """The blobs of a net, numbered in the order in which layers make them. A top in place is the same blob as a bottom.

    `blobs` has the number of each edge's blob, in the order of the layers.
    """

    names: list[str] = field(default_factory=list)
    blobs: dict[int, int] = field(default_factory=dict)
    layers: list[LayerBlobNumbers] = field(default_factory=list)

    def edges(self) -> list[int]:
        """The last edge of each blob, which has its shape."""
        last = {blob: edge for edge, blob in self.blobs.items()}
        return [last[blob] for blob in range(len(self.names))]


def number_blobs(built: Built) -> BlobNumbers:
    """Number the blobs of a net."""
    numbers = BlobNumbers()
    for node in built.graph.nodes:
        bottoms = tuple(numbers.blobs[edge] for edge in node.bottoms)
        tops = tuple(_top(numbers, node, index, bottoms) for index in range(len(node.tops)))
        numbers.blobs.update(zip(node.tops, tops, strict=True))
        numbers.layers.append(LayerBlobNumbers(bottoms, tops))
    return numbers


def _top(numbers: BlobNumbers, node: Node, index: int, bottoms: tuple[int, ...]) -> int:
    name = node.layer.top[index]
    if index < len(bottoms) and node.layer.bottom[index] == name:
        return bottoms[index]
    numbers.names.append(name)
    return len(numbers.names) - 1
