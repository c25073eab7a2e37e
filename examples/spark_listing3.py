"""Listing 3 of the SparkNet paper: rounds of iterations on every worker, with averaging in between.

`NetEstimator` does the same without a job for each round; this is the pattern for a training loop of your own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from sklearn.datasets import load_digits

from netdsl import ConvLayer, LinearLayer, Max, Net, NetParams, PoolLayer, RDDLayer, SoftmaxWithLoss, WeightCollection

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
    digits, context = load_digits(), spark.sparkContext
    rows = list(zip(digits.data.tolist(), digits.target.tolist(), strict=True))
    train_data = context.parallelize(rows, workers).map(preprocess).cache()
    weights = Net(NET).get_weights()
    for _ in range(rounds):
        broadcast = context.broadcast(weights)

        def train(data: Iterable[Any], broadcast: Any = broadcast) -> Iterator[WeightCollection]:
            net = Net(NET, weights=broadcast.value)
            net.set_training_data(list(data))
            net.train(50, base_lr=0.02)
            yield net.get_weights()

        weights = WeightCollection.mean(train_data.mapPartitions(train).collect())
        broadcast.destroy()
    net = Net(NET, weights=weights)
    net.set_validation_data(train_data.collect())
    return net.test(len(rows) // 32)["loss"]


if __name__ == "__main__":
    print(main(SparkSession.builder.getOrCreate()))
