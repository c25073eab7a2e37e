"""MobileNet."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand, ConvBN
from benchmarks.nets.parts import MSRA, conv_bn
from netdsl import ConvLayer, NetParams, PoolLayer, RDDLayer, Softmax
from netdsl.dsl import Average

MOBILENET = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def mobilenet(batch: int) -> NetParams:
    """MobileNet in the DSL."""
    layers = [RDDLayer("data", shape=[batch, 3, 224, 224]), *conv_bn("conv1", "data", 32, 3, 2)]
    blob, inputs = "conv1", 32
    for index, (filters, stride) in enumerate(MOBILENET, 2):
        layers += conv_bn(f"conv{index}_dw", blob, inputs, 3, stride, group=inputs)
        layers += conv_bn(f"conv{index}_sep", f"conv{index}_dw", filters, 1)
        blob, inputs = f"conv{index}_sep", filters
    layers += [PoolLayer("pool", [blob], pool=Average, kernel=7)]
    layers += [ConvLayer("fc", ["pool"], kernel=1, num_filters=1000, weight_filler=MSRA), Softmax("prob", ["fc"])]
    return NetParams("MobileNet", *layers)


class MobileNet(ByHand):
    """MobileNet by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, inputs = ConvBN(3, 32, 3, 2), 32
        self.convs = nn.ModuleDict()
        for index, (filters, stride) in enumerate(MOBILENET, 2):
            self.convs[f"conv{index}_dw"] = ConvBN(inputs, inputs, 3, stride, inputs)
            self.convs[f"conv{index}_sep"] = ConvBN(inputs, filters, 1)
            inputs = filters
        self.fc = nn.Conv2d(1024, 1000, 1)

    def scores(self, x: Tensor) -> Tensor:
        """The scores of all classes."""
        x = F.relu(self.conv1(x), inplace=True)
        for conv in self.convs.values():
            x = F.relu(conv(x), inplace=True)
        return self.fc(F.avg_pool2d(x, 7))
