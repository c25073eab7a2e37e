"""Unique names of the values of an ONNX graph."""

from __future__ import annotations

from collections.abc import Iterable

from netdsl.net.build import Built


class UniqueNames:
    """Makes names that aren't in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def unique(self, base: str) -> str:
        """The name, followed by a number if it is in use."""
        name = base
        while name in self._used or not name:
            self._next[base] = number = self._next.get(base, 1) + 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name


def edge_names(built: Built) -> list[str]:
    """A unique name for every edge: that of its blob.

    Where layers work in place and a blob has several edges, an input of the net has the blob's name, or else the last
    edge; the name of the layer that makes it is added to the others.
    """
    blobs, names = built.graph.blobs, UniqueNames(built.graph.blobs)
    name_owners = {blob: edge for edge, blob in enumerate(blobs)}
    name_owners.update({blobs[edge]: edge for edge in built.input_edges()})
    producers = {edge: node.layer.name for node in built.graph.nodes for edge in node.tops}
    return [
        blob if name_owners[blob] == edge else names.unique(f"{blob}/{producers.get(edge, edge)}")
        for edge, blob in enumerate(blobs)
    ]
