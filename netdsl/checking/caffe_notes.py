"""What Caffe refuses in a net that works here, or does otherwise with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caffe_proto.locations import error_label
from netdsl.layer import BringsData
from netdsl.layer.data import DataOrigin, stated_shapes
from netdsl.layers import type_of
from netdsl.net.build import Built
from netdsl.net.graph import Graph


def caffe_notes(graphs: Iterable[Graph], builts: Iterable[Built]) -> list[str]:
    """Return a sentence for each layer that Caffe wouldn't take as it is, or would run with other numbers.

    The graphs are those of the net as it was written, before shapes were assumed that it doesn't state.
    """
    notes = [
        *(note for graph in graphs for note in _shapeless_inputs(graph)),
        *(f"{error_label(node.layer)}: {note}" for built in builts for node, layer in built.pairs()
          for note in layer.caffe_notes),
    ]  # fmt: skip
    return list(dict.fromkeys(notes))


def _shapeless_inputs(graph: Graph) -> Iterator[str]:
    """Caffe takes such a layer, but none that reads it, unless a program sets its shape in time."""
    for node in graph.nodes:
        kind = type_of(node.layer)
        is_input = kind is not None and issubclass(kind, BringsData) and kind.data_origin is DataOrigin.INPUT
        if is_input and not stated_shapes(node.layer):
            advice = "write input_param { shape { dim } }"
            yield f"{error_label(node.layer)}: Caffe refuses inputs without a shape; {advice}"
