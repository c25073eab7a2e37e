"""Measures rows per second of a DataFrame that are read into training batches, and that a net predicts.

In the first table, all methods create batches of float32 arrays from the same cached rows. netdsl also writes them to
disk. In the second table, both methods run the same small net on the rows: netdsl's model, and pyspark.ml's
`predict_batch_udf` with the net's torch module. The methods take turns in one run, and the tables show medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pyspark.ml.functions import predict_batch_udf
from pyspark.sql import DataFrame
from pyspark.sql.functions import count, element_at, lit, rand, sequence, sum, transform  # noqa: A004
from pyspark.sql.types import ArrayType, FloatType

from netdsl import ActivationLayer, LinearLayer, Net, NetParams, RDDLayer, ReLU, Softmax
from netdsl.data.tables.table import BlobColumn
from netdsl.spark import NetModel
from netdsl.spark.session import SETTINGS, open_session
from netdsl.spark.tables.store import store_rows

SHAPE, BATCH = (1, 28, 28), 64
NET = NetParams(
    "small",
    RDDLayer("data", shape=[BATCH, *SHAPE]),
    LinearLayer("inner", ["data"], num_outputs=64, weight_filler={"type": "xavier"}),
    ActivationLayer("relu", ["inner"], activation=ReLU),
    LinearLayer("scores", ["relu"], num_outputs=10, weight_filler={"type": "xavier"}),
    Softmax("prob", ["scores"]),
)

Method = Callable[[DataFrame], object]


def by_row(frame: DataFrame) -> object:
    """Create batches with a loop over rows."""

    def batches(rows: Iterator[Any]) -> Iterator[int]:
        while batch_rows := list(islice(rows, BATCH)):
            yield len(np.array([row.pixels for row in batch_rows], np.float32))

    return frame.rdd.mapPartitions(batches).sum()


def by_pandas(frame: DataFrame) -> object:
    """Create batches with mapInPandas."""

    def batches(frames: Iterator[Any]) -> Iterator[Any]:
        for rows in frames:
            array = np.stack(rows["pixels"].to_numpy()).astype(np.float32)
            yield rows.iloc[:1, :0].assign(rows=len(array))

    return frame.mapInPandas(batches, "rows long").agg(sum("rows")).collect()


def ours(frame: DataFrame) -> object:
    """Store rows as netdsl's estimator does before training."""
    folder = Path(tempfile.mkdtemp())
    try:
        return store_rows(frame, folder, [BlobColumn("data", "pixels", SHAPE)])
    finally:
        shutil.rmtree(folder)


def predictors(folder: Path) -> Mapping[str, Method]:
    """Return netdsl's model and Spark's own UDF with the same weights. Only the sum of their predictions is
    collected."""
    Net(NET).save(folder / "net.caffemodel")
    model = NetModel(NET, folder / "net.caffemodel", bindings={"data": "pixels"}, predictionCol="")
    prototxt, weights = NET.prototxt(), (folder / "net.caffemodel").read_bytes()

    def make_predictor() -> Callable[[Any], Any]:
        from caffe_proto import caffe_pb2 as pb
        from caffe_proto.text.prototxt import from_text

        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, "net.caffemodel")
            path.write_bytes(weights)
            module = Net(from_text(prototxt, pb.NetParameter), weights=path).module

        def predict(pixels: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return module(torch.from_numpy(pixels.astype(np.float32)))["prob"].numpy()

        return predict

    udf = predict_batch_udf(
        make_predictor, return_type=ArrayType(FloatType()), batch_size=BATCH, input_tensor_shapes=[[*SHAPE]]
    )

    def sum_of_first(column: Any) -> Any:
        return sum(element_at(column, 1))

    return {
        "ours": lambda frame: model.transform(frame).agg(sum_of_first("probability")).collect(),
        "predict_batch_udf": lambda frame: frame.select(udf("pixels").alias("p")).agg(sum_of_first("p")).collect(),
    }


def print_rates(title: str, frame: DataFrame, methods: Mapping[str, Method], rows: int, rounds: int) -> None:
    """Print the rows per second of all methods, and the ratio of netdsl's rate to each."""
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for number in range(rounds + 1):
        for name, method in methods.items():
            start = time.perf_counter()
            method(frame)
            if number:  # the first round is a warm-up
                seconds[name].append(time.perf_counter() - start)
    rates = {name: rows / statistics.median(times) for name, times in seconds.items()}
    print(title)
    for name, rate in rates.items():
        print(f"  {name:<20}{rate:>12,.0f} rows/s{rates['ours'] / rate:>8.2f}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    quiet = {"spark.ui.enabled": "false", "spark.driver.memory": "4g"}
    with open_session("local[2]", {**SETTINGS, **quiet}) as session, tempfile.TemporaryDirectory() as folder:
        pixels = transform(sequence(lit(1), lit(SHAPE[1] * SHAPE[2])), lambda element: rand().cast("float"))
        frame = session.range(arguments.rows, numPartitions=4).select(pixels.alias("pixels")).cache()
        frame.select(count("pixels")).collect()
        print_rates(
            "into batches",
            frame,
            {"ours": ours, "by row": by_row, "pandas": by_pandas},
            arguments.rows,
            arguments.rounds,
        )
        print_rates("predicted", frame, predictors(Path(folder)), arguments.rows, arguments.rounds)


if __name__ == "__main__":
    main()
