"""A user's program for tests that run it as ranks of mpiexec or torchrun: `python program.py OUT [alone]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from netdsl import LinearLayer, Net, NetParams, RDDLayer
from netdsl.dsl import Accuracy, SoftmaxWithLoss

COUNT = 80
ROWS = np.random.default_rng(0).normal(size=(COUNT, 3)).astype(np.float32)
LABELS = (ROWS[:, 0] > 0).astype(np.int64)


def net_of(batch: int = 8) -> Net:
    """Return a net that distinguishes two classes, with the same initial weights in every process."""
    net = Net(
        NetParams(
            "two",
            RDDLayer("data", shape=[batch, 3]),
            RDDLayer("label", shape=[batch, 1]),
            LinearLayer("ip", ["data"], num_outputs=2, weight_filler={"type": "xavier"}),
            Accuracy("accuracy", ["ip", "label"], include={"phase": "TEST"}),
            SoftmaxWithLoss("loss", ["ip", "label"]),
        )
    )
    net.set_weights({"ip": [np.full((2, 3), 0.1, np.float32), np.zeros(2, np.float32)]})
    return net


if __name__ == "__main__":
    out, alone = Path(sys.argv[1]), sys.argv[2:] == ["alone"]
    net = net_of()
    loss = net.train((ROWS, LABELS), epochs=5, type="Adam", base_lr=1e-3, random_seed=3, alone=alone)
    again = net.train(10, alone=alone)
    out.mkdir(exist_ok=True)
    weights = net.get_weights()["ip"]
    np.savez(out / f"{len(list(out.iterdir()))}-{id(net)}.npz", *weights, loss=loss, again=again)
