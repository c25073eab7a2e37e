"""A program's own loop on Spark: `python loop_driver.py WEIGHTS --master MASTER` saves the weights of its workers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.spark.session import SETTINGS, open_session

WORKERS, ROWS, BATCH = 2, 300, 8
NET = NetParams(
    "two",
    RDDLayer("data", shape=[BATCH, 4]),
    RDDLayer("label", shape=[BATCH, 1]),
    LinearLayer("scores", ["data"], num_outputs=3, weight_filler={"type": "xavier"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)


def main(weights: Path, master: str) -> None:
    """Train in turns, from weights that don't depend on the machine."""
    random = np.random.default_rng(0)
    values = random.normal(size=(ROWS, 4)).astype(np.float32)
    with open_session(master, {**SETTINGS, "spark.ui.enabled": "false"}) as session, Net(NET) as net:
        rows = session.sparkContext.parallelize(list(zip(values, range(ROWS), strict=True)), 3)
        rows = rows.map(lambda row: (row[0], row[1] % 3))
        net.set_weights({"scores": [random.normal(size=(3, 4)), random.normal(size=3)]})
        with net.on(rows, workers=WORKERS, base_lr=0.1, momentum=0.9, random_seed=3) as nets:
            for _ in range(2):
                nets.train(10)
                nets.average()
            nets.train(5)
            found = [array for each in nets.weights() for blobs in each.values() for array in blobs]
    np.savez(weights, *found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[-1])
