"""The tasks that predict: Arrow batches of rows in, the same batches with columns of predictions out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netdsl.prediction.add_columns import ColumnAdder
from netdsl.prediction.predictor import Predictor
from netdsl.spark.pipeline.shipped_net import ShippedNet, in_task, once_per_process

if TYPE_CHECKING:
    from pyspark import Broadcast


@dataclass(frozen=True)
class PredictionTask:
    """The settings of tasks that predict. The token tells one model from another."""

    token: str
    columns: dict[str, str]  # of blobs
    adder: ColumnAdder
    device: str | None = None  # if unset, the GPU that Spark assigned to the task, or else the processor

    def predict(self, shipped: Broadcast[ShippedNet], batches: Iterable[Any]) -> Iterator[Any]:
        """The batches with the new columns."""
        blobs = self.adder.names.blobs
        key = f"{self.token} {sorted(blobs)} {sorted(self.columns.items())}"
        with in_task(self.device) as (part, device):
            predictor = once_per_process(
                f"{key} {device}", lambda: Predictor(*shipped.value.load(), blobs, self.columns, device)
            )
            yield from self.adder.add(predictor, batches, part)
