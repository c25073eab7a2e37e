"""The test of a net on the rows of a DataFrame, of which each task has a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from netdsl.prediction.scoring import RowScore, Scorer, build_for_scoring, scoring_inputs
from netdsl.spark.pipeline.param_values import net_of
from netdsl.spark.pipeline.shipped_net import ShippedNet, in_task, once_per_process
from netdsl.spark.tables.parquet import query_errors
from netdsl.tables.arrow import arrow
from netdsl.weights.match import Weights

if TYPE_CHECKING:
    from pyspark import Broadcast

_FIELDS = "rows bigint, loss double, outputs map<string, array<double>>"


@dataclass(frozen=True)
class _ScoringTask:
    """The settings of tasks that test."""

    token: str
    columns: dict[str, str]
    device: str | None

    def score(self, shipped: Broadcast[ShippedNet], batches: Iterable[Any]) -> Iterator[Any]:
        """The sums of a partition, as a row."""
        with in_task(self.device) as (part, device):
            scorer = once_per_process(
                f"{self.token} {device}", lambda: Scorer(*shipped.value.load(), self.columns, device)
            )
            score = scorer.score(batches, part)
        library = arrow()
        outputs = library.map_(library.string(), library.list_(library.float64()))
        schema = library.schema([("rows", library.int64()), ("loss", library.float64()), ("outputs", outputs)])
        row = {"rows": score.rows, "loss": score.loss, "outputs": list(score.outputs.items())}
        yield library.RecordBatch.from_pylist([row], schema=schema)


def score_rows(
    frame: DataFrame,
    net: pb.NetParameter,
    weights: Weights,
    columns: Mapping[str, str],
    device: str | None = None,
) -> RowScore:
    """The sums over all rows; batches end where Spark's partitions do. Without a device tasks take Spark's GPUs."""
    names = {net_input.blob.column for net_input in scoring_inputs(build_for_scoring(net), columns)}
    task = _ScoringTask(token_hex(8), dict(columns), device)
    shipped = frame.sparkSession.sparkContext.broadcast(ShippedNet.of(net_of(net), weights).with_allowed())
    chosen = frame.select([col(f"`{name}`") for name in sorted(names)])
    try:
        with query_errors("the table", "can't be tested on"):
            rows = chosen.mapInArrow(lambda batches: task.score(shipped, batches), _FIELDS).collect()
    finally:
        shipped.destroy()
    scores = (
        RowScore(row.rows, row.loss, {name: tuple(values) for name, values in row.outputs.items()}) for row in rows
    )
    return sum(scores, RowScore())
