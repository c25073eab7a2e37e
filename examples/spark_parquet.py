"""Training on a folder of Parquet, saving the model, and writing its predictions to another folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from sklearn.datasets import load_digits

from netdsl import ActivationLayer, LinearLayer, NetParams, RDDLayer, ReLU, SoftmaxWithLoss
from netdsl.spark import NetEstimator, NetModel

NET = NetParams(
    "digits",
    RDDLayer("data", shape=[32, 1, 8, 8], transform_param={"scale": 1 / 16}),
    RDDLayer("label", shape=[32, 1]),
    LinearLayer("inner", ["data"], num_outputs=64, weight_filler={"type": "xavier"}),
    ActivationLayer("relu", ["inner"], activation=ReLU),
    LinearLayer("scores", ["relu"], num_outputs=10, weight_filler={"type": "xavier"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)


def main(spark: SparkSession, folder: Path) -> float:
    """Train a net and return its share of right predictions."""
    digits = load_digits()
    rows = [(bytearray(map(int, x)), int(y)) for x, y in zip(digits.data, digits.target, strict=True)]
    spark.createDataFrame(rows, "pixels binary, digit int").write.parquet(f"{folder}/digits")

    table = spark.read.parquet(f"{folder}/digits")
    bindings = {"data": "pixels", "label": "digit"}
    estimator = NetEstimator(net=NET, solver={"max_iter": 200, "base_lr": 0.05}, bindings=bindings, seed=1)
    estimator.setOutputs({"relu": "features"}).fit(table).save(f"{folder}/model")

    model = NetModel.load(f"{folder}/model")
    model.transform(table).write.parquet(f"{folder}/predictions")
    predictions = spark.read.parquet(f"{folder}/predictions")
    predictions.printSchema()
    return predictions.where(col("digit") == col("prediction")).count() / predictions.count()


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        print(main(SparkSession.builder.getOrCreate(), Path(temporary)))
