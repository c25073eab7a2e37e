"""Training on the result of an SQL query, and queries of the net's predictions."""

from __future__ import annotations

from pyspark.sql import SparkSession
from sklearn.datasets import load_digits

from netdsl import Accuracy, ActivationLayer, ConvLayer, LinearLayer, NetParams, RDDLayer, ReLU, SoftmaxWithLoss
from netdsl.spark import NetEstimator

NET = NetParams(
    "digits",
    RDDLayer("data", shape=[32, 1, 8, 8]),
    RDDLayer("label", shape=[32, 1]),
    ConvLayer("conv", ["data"], kernel=(3, 3), num_filters=16, weight_filler={"type": "xavier"}),
    ActivationLayer("relu", ["conv"], activation=ReLU),
    LinearLayer("scores", ["relu"], num_outputs=10, weight_filler={"type": "xavier"}),
    Accuracy("accuracy", ["scores", "label"], include={"phase": "TEST"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)


def main(spark: SparkSession) -> float:
    """Train a net and return its share of right predictions for digits that it wasn't trained on."""
    digits = load_digits()
    rows = [(n, x.tolist(), int(y)) for n, (x, y) in enumerate(zip(digits.data, digits.target, strict=True))]
    spark.createDataFrame(rows, "id int, pixels array<double>, digit int").createOrReplaceTempView("digits")
    frame = spark.sql("SELECT transform(pixels, x -> x / 16) AS pixels, digit, id % 5 = 0 AS held FROM digits")

    estimator = NetEstimator(
        net=NET,
        solver={"max_iter": 150, "base_lr": 0.05},
        bindings={"data": "pixels", "label": "digit"},
        strategy="averaging:tau=25",
        validationIndicatorCol="held",
        seed=1,
    )
    model = estimator.fit(frame)
    print(f"tested on rows that were held back: {model.history[-1].tested['accuracy']:.3f}")

    model.transform(frame).createOrReplaceTempView("predicted")
    spark.sql(
        "SELECT digit, count(*) AS images, avg(int(digit = prediction)) AS right FROM predicted WHERE held "
        "GROUP BY digit ORDER BY right"
    ).show()
    return float(spark.sql("SELECT avg(int(digit = prediction)) FROM predicted WHERE held").collect()[0][0])


if __name__ == "__main__":
    main(SparkSession.builder.getOrCreate())
