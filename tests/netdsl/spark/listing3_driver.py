"""A driver with four slots: SparkNet's third listing compared with the strategy `averaging`, on rows sorted by
class."""

from __future__ import annotations

import copy
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.spark.session import SETTINGS, open_session

WORKERS, ROWS, CLASSES, BATCH, TAU, ROUNDS = 4, 4000, 10, 32, 50, 3
SOLVER = {"base_lr": 0.05, "momentum": 0.9, "lr_policy": "step", "gamma": 0.1, "stepsize": 60, "random_seed": 7}
NET = NetParams(
    "sorted",
    RDDLayer("data", shape=[BATCH, 8]),
    RDDLayer("label", shape=[BATCH, 1]),
    LinearLayer("scores", ["data"], num_outputs=CLASSES, weight_filler={"type": "xavier"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
NUMBERED = NetParams("numbered", RDDLayer("number", shape=[BATCH, 1]), *NET.message.layer)


def rows() -> list[tuple[np.ndarray, int]]:
    """Return rows for each partition, sorted by class. The papers' listing would read only part of them."""
    random = np.random.default_rng(1)
    centers = random.normal(size=(CLASSES, 8))
    labels = np.sort(np.arange(WORKERS * ROWS) % CLASSES)
    values = (centers[labels] + random.normal(size=(len(labels), 8))).astype(np.float32)
    return list(zip(values, labels.tolist(), strict=True))


def numbers_read(net: Net, steps: int) -> list[int]:
    """Return the numbers of the rows that a net learns from in some steps."""
    found = list[int]()
    for _ in range(steps):
        net.train(1, alone=True)
        found += net._solver.net.outputs()["number"].int().flatten().tolist()
    return found


def numbers_read_and_die(net: Net, steps: int, mark: Path) -> list[int]:
    """Do the same as `numbers_read`, but kill the first process that has read them. A local Spark doesn't retry its
    task."""
    found = numbers_read(net, steps)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return found


def main(session: Any) -> dict[str, Any]:
    """Train both ways, and print the results."""
    train_data = session.sparkContext.parallelize(rows(), WORKERS).cache()
    net = Net(NET)
    other = copy.copy(net)
    with net, net.on(train_data, workers=WORKERS, **SOLVER) as nets:
        for _ in range(ROUNDS):
            nets.train(TAU)
            nets.average()
        listed, score = net.get_weights(), net.test(train_data)["loss"]
    with other:
        other.train(
            train_data, ROUNDS * TAU, backend="spark", workers=WORKERS, strategy=f"averaging:tau={TAU}", **SOLVER
        )
        trained, other_score = other.get_weights(), other.test(train_data)["loss"]
    numbered = train_data.zipWithIndex().map(lambda pair: (pair[1], *pair[0]))
    epoch = WORKERS * ROWS // (BATCH * WORKERS)
    with Net(NUMBERED, phase="TRAIN").on(numbered, workers=WORKERS, **SOLVER) as nets:
        epochs = []
        for work in (numbers_read, partial(numbers_read_and_die, mark=Path(sys.argv[1], "killed"))):
            read = [number for numbers in nets.map(partial(work, steps=epoch)) for number in numbers]
            nets.average()
            epochs.append(sorted(read) == list(range(WORKERS * ROWS)))
    return {"same": listed == trained, "same score": score == other_score, "score": score, "epochs": epochs}


if __name__ == "__main__":
    with open_session("local[4]", {**SETTINGS, "spark.ui.enabled": "false"}) as session:
        print(json.dumps(main(session)))
