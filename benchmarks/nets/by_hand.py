"""The base class of hand-written nets, and functions that copy weights from netdsl's nets to them."""

from __future__ import annotations

from abc import abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from netdsl import Net

LAYOUTS = torch.contiguous_format, torch.channels_last  # the layouts of images: channels first and last


def in_layout(images: Tensor, layout: torch.memory_format) -> Tensor:
    """Return a copy of images in a layout. Its strides show the layout even with a single channel."""
    return torch.empty_like(images, memory_format=layout).copy_(images)


class ByHand(nn.Module):
    """A classifier that returns scores for training and probabilities for prediction."""

    @abstractmethod
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of all classes."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the probabilities of all classes."""
        return F.softmax(self.scores(x), 1)


class ConvBN(nn.Module):
    """A convolution with batch normalization."""

    def __init__(
        self, inputs: int, filters: int, kernel: int, stride: int = 1, group: int = 1, *, bias: bool = False
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2, groups=group, bias=bias)
        self.norm = nn.BatchNorm2d(filters)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized convolution without an activation."""
        return self.norm(self.conv(x))


def load_by_hand(net: Net, module: nn.Module) -> None:
    """Copy the weights of a net to a hand-written module whose layers have the same names."""
    weights = net.get_weights()
    names = list(weights)
    for path, part in module.named_modules():
        name = path.rpartition(".")[2]
        if isinstance(part, ConvBN):
            place = names.index(name)  # BatchNorm and Scale are the next two layers
            arrays = [array for layer in names[place : place + 3] for array in weights[layer]]
            _load_conv_bn(part, [torch.from_numpy(array) for array in arrays])
        elif name in weights:
            for target, array in zip(part.parameters(), weights[name], strict=True):
                target.data.copy_(torch.from_numpy(array))


def _load_conv_bn(part: ConvBN, arrays: list[Tensor]) -> None:
    *convolution, mean, variance, factor, gamma, beta = arrays
    for target, array in zip(part.conv.parameters(), convolution, strict=True):
        target.data.copy_(array)
    divisor = factor if factor.item() else torch.ones(1)
    part.norm.running_mean.copy_(mean / divisor)
    part.norm.running_var.copy_(variance / divisor)
    part.norm.weight.data.copy_(gamma)
    part.norm.bias.data.copy_(beta)
