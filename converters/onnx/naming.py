"""Names that an ONNX graph takes: each is there once."""

from __future__ import annotations

from collections.abc import Iterable

from netdsl.net.build import Built


class Names:
    """Gives out names of which none is taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """The name, with a number behind it if it is taken."""
        name = wanted
        while name in self._taken or not name:
            self._next[wanted] = number = self._next.get(wanted, 1) + 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def edge_names(built: Built) -> list[str]:
    """A name for every edge: its blob's.

    Where layers work in place and several edges are of one blob, the blob's name is for an input of the net, or else
    for what the blob is in the end; the others have the name of the layer that makes them behind it.
    """
    blobs, names = built.graph.blobs, Names(built.graph.blobs)
    keepers = {blob: edge for edge, blob in enumerate(blobs)}
    keepers.update({blobs[edge]: edge for edge in built.input_edges()})
    makers = {edge: node.layer.name for node in built.graph.nodes for edge in node.tops}
    return [
        blob if keepers[blob] == edge else names.unique(f"{blob}/{makers.get(edge, edge)}")
        for edge, blob in enumerate(blobs)
    ]
