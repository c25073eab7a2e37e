"""The batches of one data layer, for tests of their content."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.batches.reading import Loading
from netdsl.net.build import build
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve


def batches(
    layer: str, loading: Loading, count: int, position: int = 0, phase: Phase = Phase.TRAIN
) -> list[list[np.ndarray]]:
    """Return the tops of this many batches from a position, after checking their shapes against those that the layer
    states."""
    graph = resolve(from_text(layer, pb.NetParameter), phase)
    feeds = Feeds.open(graph, loading=loading)
    if position:
        feeds.seek({graph.nodes[0].layer.name: position})
    shapes = build(graph).shapes
    made = [[tensor.numpy().copy() for tensor in feeds.tops(0)] for _ in range(count)]
    feeds.close()
    assert all(shapes == [top.shape for top in tops] for tops in made)
    return made
