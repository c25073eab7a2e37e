"""Data layers that are told what shape items have, by rows of the table that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.checking.shape_guesses import assume
from netdsl.layers import LAYERS
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import input_tensor
from netdsl.tables.binding import arrays_of
from netdsl.tables.columns import RowRange


def infer_shapes(net: pb.NetParameter, rows: Any, inputs: Sequence[NetInput]) -> pb.NetParameter:
    """The net with the shapes that inputs have in an Arrow batch, where it doesn't say them itself."""
    changed = pb.NetParameter()
    changed.CopyFrom(net)
    open_ones = [each for each in inputs if each.blob.shape is None]
    if not rows.num_rows:
        return changed
    first = RowRange("the table")
    arrays = arrays_of(rows, [each.blob for each in open_ones], first)
    shapes = {
        net_input.blob.name: tuple(input_tensor(net_input, arrays, np.random.default_rng(0), first).shape[1:])
        for net_input in open_ones
    }
    assume(changed, shapes, LAYERS)
    return changed
