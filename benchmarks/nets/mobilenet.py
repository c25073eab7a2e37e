"""A hand-written MobileNet."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand, ConvBN

MOBILENET = {
    "2_1": (64, 1),
    "2_2": (128, 2),
    "3_1": (128, 1),
    "3_2": (256, 2),
    "4_1": (256, 1),
    "4_2": (512, 2),
    **{f"5_{number}": (512, 1) for number in range(1, 6)},
    "5_6": (1024, 2),
    "6": (1024, 1),
}


class MobileNet(ByHand):
    """A hand-written MobileNet."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, inputs = ConvBN(3, 32, 3, 2), 32
        self.convs = nn.ModuleDict()
        for number, (filters, stride) in MOBILENET.items():
            self.convs[f"conv{number}/dw"] = ConvBN(inputs, inputs, 3, stride, inputs)
            self.convs[f"conv{number}/sep"] = ConvBN(inputs, filters, 1)
            inputs = filters
        self.fc7 = nn.Conv2d(1024, 1000, 1)

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of all classes."""
        x = F.relu(self.conv1(x), inplace=True)
        for conv in self.convs.values():
            x = F.relu(conv(x), inplace=True)
        return self.fc7(F.avg_pool2d(x, 7))
