"""A hand-written ResNet-50."""

from __future__ import annotations

from string import ascii_lowercase

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand, ConvBN

RESNET = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]


def _block_name(stage: int, block: int) -> str:
    return f"res{stage}{ascii_lowercase[block]}"


class ResNet50(ByHand):
    """A hand-written ResNet-50."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = ConvBN(3, 64, 7, 2, bias=True)
        self.convs, inputs = nn.ModuleDict(), 64
        for stage, (narrow, wide, blocks, first_stride) in enumerate(RESNET, 2):
            for block in range(blocks):
                name, stride = _block_name(stage, block), first_stride if block == 0 else 1
                if block == 0:
                    self.convs[f"{name}_branch1"] = ConvBN(inputs, wide, 1, stride)
                self.convs[f"{name}_branch2a"] = ConvBN(inputs, narrow, 1, stride)
                self.convs[f"{name}_branch2b"] = ConvBN(narrow, narrow, 3)
                self.convs[f"{name}_branch2c"] = ConvBN(narrow, wide, 1)
                inputs = wide
        self.fc1000 = nn.Linear(2048, 1000)

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of all classes."""
        x = F.max_pool2d(F.relu(self.conv1(x), inplace=True), 3, 2, ceil_mode=True)
        for stage, (_, _, blocks, _) in enumerate(RESNET, 2):
            for block in range(blocks):
                name = _block_name(stage, block)
                shortcut = self.convs[f"{name}_branch1"](x) if block == 0 else x
                y = F.relu(self.convs[f"{name}_branch2a"](x), inplace=True)
                y = F.relu(self.convs[f"{name}_branch2b"](y), inplace=True)
                x = F.relu(shortcut + self.convs[f"{name}_branch2c"](y), inplace=True)
        return self.fc1000(F.avg_pool2d(x, 7).flatten(1))
