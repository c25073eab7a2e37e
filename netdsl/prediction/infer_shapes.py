"""Infers the shapes of a net's inputs from the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import arrays_of
from netdsl.layer import Shape
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import input_tensor


def infer_shapes(rows: Any, inputs: Sequence[NetInput]) -> dict[str, Shape]:
    """Return the shapes of items for inputs whose shapes the net doesn't state, by blob. They come from an Arrow
    batch."""
    shapeless = [net_input for net_input in inputs if net_input.blob.shape is None]
    if not rows.num_rows:
        return {}
    first = RowRange("the table")
    arrays = arrays_of(rows, [net_input.blob for net_input in shapeless], first)
    return {
        net_input.blob.name: tuple(input_tensor(net_input, arrays, np.random.default_rng(0), first).shape[1:])
        for net_input in shapeless
    }
