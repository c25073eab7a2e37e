"""LeNet."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand
from benchmarks.nets.parts import XAVIER
from netdsl import ConvLayer, LinearLayer, Max, NetParams, PoolLayer, RDDLayer, ReLU, Softmax


def lenet(batch: int) -> NetParams:
    """LeNet in the DSL."""
    return NetParams(
        "LeNet",
        RDDLayer("data", shape=[batch, 1, 28, 28]),
        ConvLayer("conv1", ["data"], kernel=5, num_filters=20, weight_filler=XAVIER),
        PoolLayer("pool1", ["conv1"], pool=Max, kernel=2, stride=2),
        ConvLayer("conv2", ["pool1"], kernel=5, num_filters=50, weight_filler=XAVIER),
        PoolLayer("pool2", ["conv2"], pool=Max, kernel=2, stride=2),
        LinearLayer("ip1", ["pool2"], num_outputs=500, weight_filler=XAVIER),
        ReLU("relu1", ["ip1"], in_place=True),
        LinearLayer("ip2", ["ip1"], num_outputs=10, weight_filler=XAVIER),
        Softmax("prob", ["ip2"]),
    )


class LeNet(ByHand):
    """LeNet by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.ip1, self.ip2 = nn.Linear(800, 500), nn.Linear(500, 10)

    def scores(self, x: Tensor) -> Tensor:
        """The scores of all classes."""
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.ip2(F.relu(self.ip1(x.flatten(1)), inplace=True))
