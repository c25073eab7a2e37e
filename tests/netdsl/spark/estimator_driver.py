"""A program with a session of Spark, which is classic or of Spark Connect: estimator_driver.py ADDRESS FOLDER.

It trains, predicts, saves and loads, and prints what it sees as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from netdsl.errors import DistributedError
from netdsl.spark import NetEstimator, NetModel
from tests.netdsl.spark.separable_points import PARAMS, POINTS, ROW, trained_bits


def main(address: str, folder: str) -> None:
    is_remote = address.startswith("sc:")
    session = (SparkSession.builder.remote if is_remote else SparkSession.builder.master)(address).getOrCreate()
    frame = session.createDataFrame(POINTS, ROW).coalesce(3)
    estimator = NetEstimator(
        net=PARAMS,
        solver={"max_iter": 20, "base_lr": 0.2},
        bindings={"data": "features"},
        strategy="averaging:tau=5",
        workers=2,
        seed=7,
        runFolder=folder,
    )
    model = estimator.fit(frame)
    rows = model.setVectors(True).transform(frame).select("label", "prediction", "probability").collect()
    model.save(f"{folder}/saved")
    again = NetModel.load(f"{folder}/saved").transform(frame).select("prediction").collect()
    refusal = ""
    if is_remote:
        try:
            model.net().on(frame, workers=2)
        except DistributedError as problem:
            refusal = str(problem)
    print(
        json.dumps(
            {
                "bits": trained_bits(Path(folder)),
                "right": sum(row.label == row.prediction for row in rows),
                "rows": [[row.prediction, *row.probability.toArray().tolist()] for row in rows],
                "loaded": [row.prediction for row in again],
                "refusal": refusal,
            }
        )
    )
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
