"""Shapes of a net's inputs, inferred from the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import arrays_of
from netdsl.model.data_shapes import with_items
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import input_tensor


def infer_shapes(net: pb.NetParameter, rows: Any, inputs: Sequence[NetInput]) -> pb.NetParameter:
    """The net with the shapes that its inputs have in an Arrow batch, where it doesn't say them itself."""
    shapeless = [net_input for net_input in inputs if net_input.blob.shape is None]
    if not rows.num_rows:
        return net
    first = RowRange("the table")
    arrays = arrays_of(rows, [net_input.blob for net_input in shapeless], first)
    shapes = {
        net_input.blob.name: tuple(input_tensor(net_input, arrays, np.random.default_rng(0), first).shape[1:])
        for net_input in shapeless
    }
    return with_items(net, shapes)
