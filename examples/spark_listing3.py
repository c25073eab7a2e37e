"""Listing 3 of the SparkNet paper: rounds of iterations on every worker, with averaging in between.

Spark's executors keep the nets, with their solvers and their places in the data, from one round to the next.
`NetEstimator` does the same without your own loop. Use this form if the loop does other work, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from sklearn.datasets import load_digits

from netdsl import ConvLayer, LinearLayer, Max, Net, NetParams, PoolLayer, RDDLayer, SoftmaxWithLoss

XAVIER = {"type": "xavier"}
NET = NetParams(
    "digits",
    RDDLayer("data", shape=[32, 1, 8, 8]),
    RDDLayer("label", shape=[32, 1]),
    ConvLayer("conv1", ["data"], kernel=(3, 3), num_filters=20, weight_filler=XAVIER),
    PoolLayer("pool1", ["conv1"], pool=Max, kernel=(2, 2), stride=(2, 2)),
    LinearLayer("ip1", ["pool1"], num_outputs=10, weight_filler=XAVIER),
    SoftmaxWithLoss("loss", ["ip1", "label"]),
)


def preprocess(row: tuple[Any, int]) -> tuple[Any, int]:
    """Scale an image to values from 0 to 1."""
    pixels, digit = row
    return np.float32(pixels).reshape(1, 8, 8) / 16, digit


def main(spark: SparkSession, workers: int = 2, rounds: int = 6) -> float:
    """Train a net and return its mean loss after the last round."""
    digits = load_digits()
    rows = list(zip(digits.data.tolist(), digits.target.tolist(), strict=True))
    train_data = spark.sparkContext.parallelize(rows, workers).map(preprocess)

    net = Net(NET)
    with net.on(train_data, workers=workers, base_lr=0.02) as nets:
        for _ in range(rounds):
            nets.train(50)
            nets.average()
    return net.test(train_data)["loss"]


if __name__ == "__main__":
    print(main(SparkSession.builder.getOrCreate()))
