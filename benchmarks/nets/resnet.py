"""ResNet-50."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand, ConvBN
from benchmarks.nets.parts import MSRA, conv_bn
from netdsl import Eltwise, LinearLayer, NetParams, PoolLayer, RDDLayer, ReLU, Softmax
from netdsl.dsl import Average

RESNET = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]


def resnet50(batch: int) -> NetParams:
    """ResNet-50 in the DSL."""
    layers = [RDDLayer("data", shape=[batch, 3, 224, 224]), *conv_bn("conv1", "data", 64, 7, 2)]
    layers.append(PoolLayer("pool1", ["conv1"], kernel=3, stride=2))
    blob = "pool1"
    for stage, (narrow, wide, blocks, first_stride) in enumerate(RESNET, 2):
        for block in range(blocks):
            name, stride, shortcut = f"res{stage}_{block}", first_stride if block == 0 else 1, blob
            if block == 0:
                layers += conv_bn(f"{name}_0", blob, wide, 1, stride, relu=False)
                shortcut = f"{name}_0"
            layers += conv_bn(f"{name}_a", blob, narrow, 1, stride)
            layers += conv_bn(f"{name}_b", f"{name}_a", narrow, 3)
            layers += conv_bn(f"{name}_c", f"{name}_b", wide, 1, relu=False)
            layers += [Eltwise(name, [shortcut, f"{name}_c"]), ReLU(f"relu_{name}", [name], in_place=True)]
            blob = name
    layers += [PoolLayer("pool5", [blob], pool=Average, kernel=7)]
    layers += [LinearLayer("fc", ["pool5"], num_outputs=1000, weight_filler=MSRA), Softmax("prob", ["fc"])]
    return NetParams("ResNet-50", *layers)


class ResNet50(ByHand):
    """ResNet-50 by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = ConvBN(3, 64, 7, 2)
        self.convs, inputs = nn.ModuleDict(), 64
        for stage, (narrow, wide, blocks, first_stride) in enumerate(RESNET, 2):
            for block in range(blocks):
                name, stride = f"res{stage}_{block}", first_stride if block == 0 else 1
                if block == 0:
                    self.convs[f"{name}_0"] = ConvBN(inputs, wide, 1, stride)
                self.convs[f"{name}_a"] = ConvBN(inputs, narrow, 1, stride)
                self.convs[f"{name}_b"] = ConvBN(narrow, narrow, 3)
                self.convs[f"{name}_c"] = ConvBN(narrow, wide, 1)
                inputs = wide
        self.fc = nn.Linear(2048, 1000)

    def scores(self, x: Tensor) -> Tensor:
        """The scores of all classes."""
        x = F.max_pool2d(F.relu(self.conv1(x), inplace=True), 3, 2, ceil_mode=True)
        for stage, (_, _, blocks, _) in enumerate(RESNET, 2):
            for block in range(blocks):
                name = f"res{stage}_{block}"
                shortcut = self.convs[f"{name}_0"](x) if block == 0 else x
                y = F.relu(self.convs[f"{name}_a"](x), inplace=True)
                y = F.relu(self.convs[f"{name}_b"](y), inplace=True)
                x = F.relu(shortcut + self.convs[f"{name}_c"](y), inplace=True)
        return self.fc(F.avg_pool2d(x, 7).flatten(1))
