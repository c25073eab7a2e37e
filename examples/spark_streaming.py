"""Predicts the rows of a stream with a net that continues to learn from them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from sklearn.datasets import load_digits

from netdsl import LinearLayer, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.spark import NetEstimator

NET = NetParams(
    "digits",
    RDDLayer("data", shape=[32, 64]),
    RDDLayer("label", shape=[32, 1]),
    LinearLayer("scores", ["data"], num_outputs=10, weight_filler={"type": "xavier"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
SCHEMA = "pixels array<double>, digit int"


def main(spark: SparkSession, folder: Path, batches: int = 3) -> list[float]:
    """Return the share of correct predictions in each batch of the stream, measured before the net trains on the
    batch."""
    digits = load_digits()
    rows = [((x / 16).tolist(), int(y)) for x, y in zip(digits.data, digits.target, strict=True)]
    parts = [spark.createDataFrame(rows[part :: batches + 1], SCHEMA) for part in range(batches + 1)]
    for part in parts[1:]:
        part.coalesce(1).write.mode("append").parquet(f"{folder}/stream")

    bindings = {"data": "pixels", "label": "digit"}
    estimator = NetEstimator(net=NET, solver={"max_iter": 30, "base_lr": 0.05}, bindings=bindings, seed=1)
    model = estimator.fit(parts[0])
    right: list[float] = []

    def learn(batch: DataFrame, number: int) -> None:
        nonlocal model
        batch = batch.cache()
        right.append(model.transform(batch).where(col("digit") == col("prediction")).count() / batch.count())
        with model.files() as (_, weights):
            model = estimator.copy().setWeights(weights).fit(batch)

    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{folder}/stream")
    stream.writeStream.foreachBatch(learn).trigger(availableNow=True).start().awaitTermination()
    return right


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        print(main(SparkSession.builder.getOrCreate(), Path(temporary)))
