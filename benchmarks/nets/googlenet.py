"""GoogLeNet without its auxiliary losses."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets.by_hand import ByHand
from benchmarks.nets.parts import XAVIER
from caffe_proto import caffe_pb2 as pb
from netdsl import LRN, Concat, ConvLayer, Dropout, LinearLayer, NetParams, PoolLayer, RDDLayer, ReLU, Softmax
from netdsl.dsl import Average

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


def _conv_relu(
    name: str, bottom: str, filters: int, kernel: int, stride: int = 1, pad: int = 0
) -> list[pb.LayerParameter]:
    conv = ConvLayer(name, [bottom], kernel=kernel, num_filters=filters, stride=stride, pad=pad, weight_filler=XAVIER)
    return [conv, ReLU(f"relu_{name}", [name], in_place=True)]


def googlenet(batch: int) -> NetParams:
    """GoogLeNet in the DSL."""
    layers = [RDDLayer("data", shape=[batch, 3, 224, 224])]
    layers += _conv_relu("conv1", "data", 64, 7, 2, 3)
    layers += [PoolLayer("pool1", ["conv1"], kernel=3, stride=2), LRN("norm1", ["pool1"], alpha=1e-4)]
    layers += _conv_relu("conv2_reduce", "norm1", 64, 1) + _conv_relu("conv2", "conv2_reduce", 192, 3, 1, 1)
    layers += [LRN("norm2", ["conv2"], alpha=1e-4), PoolLayer("pool2", ["norm2"], kernel=3, stride=2)]
    blob = "pool2"
    for name, (_, a, b_in, b, c_in, c, d) in INCEPTION.items():
        layers += _conv_relu(f"{name}_1x1", blob, a, 1)
        layers += _conv_relu(f"{name}_3x3_reduce", blob, b_in, 1)
        layers += _conv_relu(f"{name}_3x3", f"{name}_3x3_reduce", b, 3, 1, 1)
        layers += _conv_relu(f"{name}_5x5_reduce", blob, c_in, 1)
        layers += _conv_relu(f"{name}_5x5", f"{name}_5x5_reduce", c, 5, 1, 2)
        layers += [PoolLayer(f"{name}_pool", [blob], kernel=3, stride=1, pad=1)]
        layers += _conv_relu(f"{name}_pool_proj", f"{name}_pool", d, 1)
        branches = [f"{name}_{branch}" for branch in ("1x1", "3x3", "5x5", "pool_proj")]
        layers.append(Concat(name, branches))
        blob = name
        if name in ("3b", "4e"):
            layers.append(PoolLayer(f"pool_{name}", [blob], kernel=3, stride=2))
            blob = f"pool_{name}"
    layers += [
        PoolLayer("pool5", [blob], pool=Average, kernel=7),
        Dropout("drop", ["pool5"], dropout_ratio=0.4, in_place=True),
    ]
    layers += [LinearLayer("fc", ["pool5"], num_outputs=1000, weight_filler=XAVIER), Softmax("prob", ["fc"])]
    return NetParams("GoogLeNet", *layers)


class GoogLeNet(ByHand):
    """GoogLeNet by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3)
        self.conv2_reduce, self.conv2 = nn.Conv2d(64, 64, 1), nn.Conv2d(64, 192, 3, 1, 1)
        self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)
        self.convs = nn.ModuleDict()
        for name, (inputs, a, b_in, b, c_in, c, d) in INCEPTION.items():
            self.convs[f"{name}_1x1"] = nn.Conv2d(inputs, a, 1)
            self.convs[f"{name}_3x3_reduce"] = nn.Conv2d(inputs, b_in, 1)
            self.convs[f"{name}_3x3"] = nn.Conv2d(b_in, b, 3, 1, 1)
            self.convs[f"{name}_5x5_reduce"] = nn.Conv2d(inputs, c_in, 1)
            self.convs[f"{name}_5x5"] = nn.Conv2d(c_in, c, 5, 1, 2)
            self.convs[f"{name}_pool_proj"] = nn.Conv2d(inputs, d, 1)
        self.fc = nn.Linear(1024, 1000)

    def scores(self, x: Tensor) -> Tensor:
        """The scores of all classes."""
        x = self.norm(F.max_pool2d(F.relu(self.conv1(x), inplace=True), 3, 2, ceil_mode=True))
        x = F.relu(self.conv2(F.relu(self.conv2_reduce(x), inplace=True)), inplace=True)
        x = F.max_pool2d(self.norm(x), 3, 2, ceil_mode=True)
        for name in INCEPTION:
            x = self._inception(name, x)
            if name in ("3b", "4e"):
                x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        return self.fc(F.dropout(F.avg_pool2d(x, 7), 0.4, self.training).flatten(1))

    def _inception(self, name: str, x: Tensor) -> Tensor:
        def conv(branch: str, bottom: Tensor) -> Tensor:
            return F.relu(self.convs[f"{name}_{branch}"](bottom), inplace=True)

        pooled = F.max_pool2d(x, 3, 1, 1)
        return torch.cat(
            [
                conv("1x1", x),
                conv("3x3", conv("3x3_reduce", x)),
                conv("5x5", conv("5x5_reduce", x)),
                conv("pool_proj", pooled),
            ],
            1,
        )
