"""A hand-written LeNet."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand


class LeNet(ByHand):
    """A hand-written LeNet."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.ip1, self.ip2 = nn.Linear(800, 500), nn.Linear(500, 10)

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of all classes."""
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.ip2(F.relu(self.ip1(x.flatten(1)), inplace=True))
