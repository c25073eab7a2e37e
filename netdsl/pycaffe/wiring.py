"""Caffe's own numbers for the blobs of a net."""

from __future__ import annotations

from dataclasses import dataclass, field

from netdsl.net.build import Built
from netdsl.net.graph import Node


@dataclass(frozen=True)
class Wire:
    """The blobs of one layer, by their numbers."""

    bottoms: tuple[int, ...]
    tops: tuple[int, ...]


@dataclass
class Wiring:
    """Blobs in the order in which layers make them. An in-place top is no new blob but its bottom.

    `blobs` has the blob that each edge of the graph is a state of, in the order of the layers.
    """

    names: list[str] = field(default_factory=list)
    blobs: dict[int, int] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)

    def edges(self) -> list[int]:
        """The edge that each blob is in the end, which has its shape."""
        last = {blob: edge for edge, blob in self.blobs.items()}
        return [last[blob] for blob in range(len(self.names))]


def wire(built: Built) -> Wiring:
    """Number the blobs of a net."""
    wiring = Wiring()
    for node in built.graph.nodes:
        bottoms = tuple(wiring.blobs[edge] for edge in node.bottoms)
        tops = tuple(_top(wiring, node, place, bottoms) for place in range(len(node.tops)))
        wiring.blobs.update(zip(node.tops, tops, strict=True))
        wiring.wires.append(Wire(bottoms, tops))
    return wiring


def _top(wiring: Wiring, node: Node, place: int, bottoms: tuple[int, ...]) -> int:
    name = node.layer.top[place]
    if place < len(bottoms) and node.layer.bottom[place] == name:
        return bottoms[place]
    wiring.names.append(name)
    return len(wiring.names) - 1
