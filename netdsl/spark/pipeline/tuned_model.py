"""A model that is fine-tuned on the rows of a DataFrame: what predicts is made anew for their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.functions import max as highest

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import DataError, WeightsError
from netdsl.model import Model, open_model
from netdsl.tuning.new_head import DataLayers, heads_of, label_of, with_data, with_heads
from netdsl.tuning.preparation import transforms_of

_BATCH = 32  # of each worker, and of tests
_SUFFIX = "tuned"  # of the names of layers that learn anew


def tuned_model(name: str, weights: tuple[str, ...], rows: DataFrame, bindings: Mapping[str, str]) -> Model:
    """The model with new heads, whose data layers take the columns of their tops."""
    model = open_model(name, weights)
    if not model.weights:
        raise WeightsError(f"{name}: has no weights to begin with; set weights to a file that has")
    label = label_of(model.net)
    heads = heads_of(model.net, {}, _classes(rows, bindings.get(label, label)))
    phases = (pb.TRAIN, pb.TEST)
    batches = dict.fromkeys(phases, _BATCH)
    with_data(model.net, DataLayers(dict.fromkeys(phases, ""), batches, transforms_of(model)))
    with_heads(model.net, heads, _SUFFIX)
    return replace(model, file=None)


def _classes(rows: DataFrame, column: str) -> int:
    """The number of classes: one more than the largest label."""
    if column not in rows.columns:
        raise DataError(f"there is no column '{column}' with labels; bindings name another one, as {{'label': 'kind'}}")
    row = rows.select(highest(col(f"`{column}`")).alias("label")).first()
    if row is None or row["label"] is None:
        raise DataError(f"column '{column}' has no labels")
    return int(row["label"]) + 1
