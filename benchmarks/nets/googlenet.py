"""A hand-written GoogLeNet without its auxiliary losses."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand

INCEPTION = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(ByHand):
    """A hand-written GoogLeNet."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)
        layers: dict[str, nn.Module] = {
            "conv1/7x7_s2": nn.Conv2d(3, 64, 7, 2, 3),
            "conv2/3x3_reduce": nn.Conv2d(64, 64, 1),
            "conv2/3x3": nn.Conv2d(64, 192, 3, 1, 1),
            "loss3/classifier": nn.Linear(1024, 1000),
        }
        for name, (inputs, a, b_in, b, c_in, c, d) in INCEPTION.items():
            layers[f"inception_{name}/1x1"] = nn.Conv2d(inputs, a, 1)
            layers[f"inception_{name}/3x3_reduce"] = nn.Conv2d(inputs, b_in, 1)
            layers[f"inception_{name}/3x3"] = nn.Conv2d(b_in, b, 3, 1, 1)
            layers[f"inception_{name}/5x5_reduce"] = nn.Conv2d(inputs, c_in, 1)
            layers[f"inception_{name}/5x5"] = nn.Conv2d(c_in, c, 5, 1, 2)
            layers[f"inception_{name}/pool_proj"] = nn.Conv2d(inputs, d, 1)
        self.layers = nn.ModuleDict(layers)

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of all classes."""
        x = self.norm(F.max_pool2d(self._conv("conv1/7x7_s2", x), 3, 2, ceil_mode=True))
        x = self._conv("conv2/3x3", self._conv("conv2/3x3_reduce", x))
        x = F.max_pool2d(self.norm(x), 3, 2, ceil_mode=True)
        for name in INCEPTION:
            x = self._inception(f"inception_{name}", x)
            if name in ("3b", "4e"):
                x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        x = F.dropout(F.avg_pool2d(x, 7), 0.4, self.training).flatten(1)
        scores: Tensor = self.layers["loss3/classifier"](x)
        return scores

    def _conv(self, name: str, x: Tensor) -> Tensor:
        return F.relu(self.layers[name](x), inplace=True)

    def _inception(self, name: str, x: Tensor) -> Tensor:
        pooled = F.max_pool2d(x, 3, 1, 1)
        ways = [
            self._conv(f"{name}/1x1", x),
            self._conv(f"{name}/3x3", self._conv(f"{name}/3x3_reduce", x)),
            self._conv(f"{name}/5x5", self._conv(f"{name}/5x5_reduce", x)),
            self._conv(f"{name}/pool_proj", pooled),
        ]
        return torch.cat(ways, 1)
