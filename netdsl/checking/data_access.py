"""Whether the data that a net names can be read here."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.locations import error_label
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading
from netdsl.data.sources.source import LiveSource
from netdsl.layer.data import DataOrigin
from netdsl.layers import data_layer_of
from netdsl.net.graph import Graph

_LOADING = Loading(workers=1, prefetch=1)


def unreadable_data(graphs: Iterable[Graph]) -> list[str]:
    """A sentence for each data layer whose source, or whose first item, can't be read; no camera is switched on."""
    sentences = (_problem(node.layer) for graph in graphs for node in graph.nodes)
    return list(dict.fromkeys(sentence for sentence in sentences if sentence is not None))


def _problem(message: pb.LayerParameter) -> str | None:
    try:
        layer = data_layer_of(message)
        if layer is None or layer.data_origin is not DataOrigin.FILES:
            return None
        with closing(Batches(layer.reading(seed=0), _LOADING)) as batches:
            if not isinstance(batches.reading.source, LiveSource):
                batches.shapes()
    except (CaffeError, OSError) as problem:
        return f"{error_label(message)}: {problem}"
    return None
