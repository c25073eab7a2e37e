"""Notes on what Caffe refuses or computes differently in a net that works here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caffe_proto.locations import error_label
from netdsl.layer import BringsData
from netdsl.layer.data import DataOrigin, stated_shapes
from netdsl.layers import type_of
from netdsl.net.build import Built
from netdsl.net.graph import Graph


def caffe_notes(graphs: Iterable[Graph], builts: Iterable[Built]) -> list[str]:
    """Return a sentence for each layer that Caffe would refuse, or would run with different results.

    The graphs are those of the net as it was written, before any missing shapes were assumed.
    """
    notes = [
        *(note for graph in graphs for note in _shapeless_inputs(graph)),
        *(f"{error_label(node.layer)}: {note}" for built in builts for node, layer in built.pairs()
          for note in layer.caffe_notes),
    ]  # fmt: skip
    return list(dict.fromkeys(notes))


def _shapeless_inputs(graph: Graph) -> Iterator[str]:
    """Yield a note for each input without a shape.

    Caffe accepts the input, but not the layers that read it, unless a program sets the shape in time.
    """
    for node in graph.nodes:
        kind = type_of(node.layer)
        is_input = kind is not None and issubclass(kind, BringsData) and kind.data_origin is DataOrigin.INPUT
        if is_input and not stated_shapes(node.layer):
            advice = "add input_param { shape { dim } }"
            yield f"{error_label(node.layer)}: Caffe refuses inputs without a shape; {advice}"
