"""A small net, trained for a step: what everything else is made of works."""

from __future__ import annotations

import numpy as np

from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss


def train_small_net() -> float:
    """The loss after a step of training on made-up numbers."""
    params = NetParams(
        "small",
        RDDLayer("data", shape=[4, 3]),
        RDDLayer("label", shape=[4]),
        LinearLayer("scores", ["data"], num_outputs=2, weight_filler={"type": "xavier"}),
        SoftmaxWithLoss("loss", ["scores", "label"]),
    )
    batch = {"data": np.ones((4, 3), np.float32), "label": np.zeros(4, np.float32)}
    with Net(params) as net:
        net.set_training_data([batch])
        net.train(1)
        return float(net.forward(**batch)["loss"])
