"""Hand-written CaffeNet and AlexNet, which differ in the order of pooling and normalization."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand

CONVOLUTIONS = [("conv1", 96, 11, 4, 0, 1), ("conv2", 256, 5, 1, 2, 2), ("conv3", 384, 3, 1, 1, 1)]
CONVOLUTIONS += [("conv4", 384, 3, 1, 1, 2), ("conv5", 256, 3, 1, 1, 2)]


class CaffeNet(ByHand):
    """A hand-written CaffeNet."""

    def __init__(self) -> None:
        super().__init__()
        inputs = 3
        for name, filters, kernel, stride, pad, group in CONVOLUTIONS:
            self.add_module(name, nn.Conv2d(inputs, filters, kernel, stride, pad, groups=group))
            inputs = filters
        self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)
        self.fc6, self.fc7, self.fc8 = nn.Linear(9216, 4096), nn.Linear(4096, 4096), nn.Linear(4096, 1000)

    def between(self, x: Tensor) -> Tensor:
        """Return the result of pooling and normalization after each of the first two convolutions."""
        return self.norm(F.max_pool2d(x, 3, 2, ceil_mode=True))

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of all classes."""
        x = self.between(F.relu(self.conv1(x), inplace=True))
        x = self.between(F.relu(self.conv2(x), inplace=True))
        x = F.relu(self.conv4(F.relu(self.conv3(x), inplace=True)), inplace=True)
        x = F.max_pool2d(F.relu(self.conv5(x), inplace=True), 3, 2, ceil_mode=True)
        x = F.dropout(F.relu(self.fc6(x.flatten(1)), inplace=True), 0.5, self.training)
        return self.fc8(F.dropout(F.relu(self.fc7(x), inplace=True), 0.5, self.training))


class AlexNet(CaffeNet):
    """A hand-written AlexNet."""

    def between(self, x: Tensor) -> Tensor:
        """Return the result of normalization and pooling after each of the first two convolutions."""
        return F.max_pool2d(self.norm(x), 3, 2, ceil_mode=True)
