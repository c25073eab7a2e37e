"""Five nets, each twice: as a Caffe net in our DSL, and written by hand in torch with layers of the same names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    LRN,
    BatchNorm,
    Concat,
    ConvLayer,
    Dropout,
    Eltwise,
    LinearLayer,
    Max,
    NetParams,
    PoolLayer,
    RDDLayer,
    ReLU,
    Scale,
    Softmax,
)
from netdsl.dsl import Average

XAVIER = {"type": "xavier"}
MSRA = {"type": "msra"}


@dataclass(frozen=True)
class Pair:
    """A net, the same by hand, and the shape to run them on."""

    name: str
    params: Callable[[int], NetParams]
    by_hand: Callable[[], nn.Module]
    image: tuple[int, int, int]
    batch: int


def lenet(batch: int) -> NetParams:
    """LeNet."""
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


class LeNet(nn.Module):
    """LeNet by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.ip1, self.ip2 = nn.Linear(800, 500), nn.Linear(500, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Class probabilities."""
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return F.softmax(self.ip2(F.relu(self.ip1(x.flatten(1)), inplace=True)), 1)


CAFFENET = [("conv1", 96, 11, 4, 0, 1), ("conv2", 256, 5, 1, 2, 2), ("conv3", 384, 3, 1, 1, 1)]
CAFFENET += [("conv4", 384, 3, 1, 1, 2), ("conv5", 256, 3, 1, 1, 2)]


def caffenet(batch: int) -> NetParams:
    """CaffeNet: AlexNet with pooling before normalisation."""
    layers, blob = [RDDLayer("data", shape=[batch, 3, 227, 227])], "data"
    for name, filters, kernel, stride, pad, group in CAFFENET:
        layers.append(
            ConvLayer(
                name,
                [blob],
                kernel=kernel,
                num_filters=filters,
                stride=stride,
                pad=pad,
                group=group,
                weight_filler=MSRA,
            )
        )
        layers.append(ReLU(f"relu_{name}", [name], in_place=True))
        blob = name
        if name in ("conv1", "conv2", "conv5"):
            layers.append(PoolLayer(f"pool_{name}", [blob], kernel=3, stride=2))
            blob = f"pool_{name}"
        if name in ("conv1", "conv2"):
            layers.append(LRN(f"norm_{name}", [blob], local_size=5, alpha=1e-4, beta=0.75))
            blob = f"norm_{name}"
    for name, outputs in (("fc6", 4096), ("fc7", 4096)):
        layers.append(LinearLayer(name, [blob], num_outputs=outputs, weight_filler=MSRA))
        layers.append(ReLU(f"relu_{name}", [name], in_place=True))
        layers.append(Dropout(f"drop_{name}", [name], in_place=True))
        blob = name
    layers += [LinearLayer("fc8", [blob], num_outputs=1000, weight_filler=MSRA), Softmax("prob", ["fc8"])]
    return NetParams("CaffeNet", *layers)


class CaffeNet(nn.Module):
    """CaffeNet by hand."""

    def __init__(self) -> None:
        super().__init__()
        inputs = 3
        for name, filters, kernel, stride, pad, group in CAFFENET:
            self.add_module(name, nn.Conv2d(inputs, filters, kernel, stride, pad, groups=group))
            inputs = filters
        self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)
        self.fc6, self.fc7, self.fc8 = nn.Linear(9216, 4096), nn.Linear(4096, 4096), nn.Linear(4096, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """Class probabilities."""
        x = self.norm(F.max_pool2d(F.relu(self.conv1(x), inplace=True), 3, 2, ceil_mode=True))
        x = self.norm(F.max_pool2d(F.relu(self.conv2(x), inplace=True), 3, 2, ceil_mode=True))
        x = F.relu(self.conv4(F.relu(self.conv3(x), inplace=True)), inplace=True)
        x = F.max_pool2d(F.relu(self.conv5(x), inplace=True), 3, 2, ceil_mode=True)
        x = F.relu(self.fc6(x.flatten(1)), inplace=True)
        return F.softmax(self.fc8(F.relu(self.fc7(x), inplace=True)), 1)


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
    """GoogLeNet without its side losses."""
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
    layers += [PoolLayer("pool5", [blob], pool=Average, kernel=7), Dropout("drop", ["pool5"], in_place=True)]
    layers += [LinearLayer("fc", ["pool5"], num_outputs=1000, weight_filler=XAVIER), Softmax("prob", ["fc"])]
    return NetParams("GoogLeNet", *layers)


class GoogLeNet(nn.Module):
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

    def forward(self, x: Tensor) -> Tensor:
        """Class probabilities."""
        x = self.norm(F.max_pool2d(F.relu(self.conv1(x), inplace=True), 3, 2, ceil_mode=True))
        x = F.relu(self.conv2(F.relu(self.conv2_reduce(x), inplace=True)), inplace=True)
        x = F.max_pool2d(self.norm(x), 3, 2, ceil_mode=True)
        for name in INCEPTION:
            x = self._inception(name, x)
            if name in ("3b", "4e"):
                x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        return F.softmax(self.fc(F.avg_pool2d(x, 7).flatten(1)), 1)

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


def _conv_bn(
    name: str, bottom: str, filters: int, kernel: int, stride: int = 1, *, relu: bool = True, group: int = 1
) -> list[pb.LayerParameter]:
    conv = ConvLayer(
        name,
        [bottom],
        kernel=kernel,
        num_filters=filters,
        stride=stride,
        pad=kernel // 2,
        group=group,
        bias_term=False,
        weight_filler=MSRA,
    )
    norm = BatchNorm(f"bn_{name}", [name], in_place=True)
    scale = Scale(f"scale_{name}", [name], in_place=True, bias_term=True)
    return [conv, norm, scale] + ([ReLU(f"relu_{name}", [name], in_place=True)] if relu else [])


RESNET = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]


def resnet50(batch: int) -> NetParams:
    """ResNet-50."""
    layers = [RDDLayer("data", shape=[batch, 3, 224, 224]), *_conv_bn("conv1", "data", 64, 7, 2)]
    layers.append(PoolLayer("pool1", ["conv1"], kernel=3, stride=2))
    blob = "pool1"
    for stage, (narrow, wide, blocks, first_stride) in enumerate(RESNET, 2):
        for block in range(blocks):
            name, stride, shortcut = f"res{stage}_{block}", first_stride if block == 0 else 1, blob
            if block == 0:
                layers += _conv_bn(f"{name}_0", blob, wide, 1, stride, relu=False)
                shortcut = f"{name}_0"
            layers += _conv_bn(f"{name}_a", blob, narrow, 1, stride)
            layers += _conv_bn(f"{name}_b", f"{name}_a", narrow, 3)
            layers += _conv_bn(f"{name}_c", f"{name}_b", wide, 1, relu=False)
            layers += [Eltwise(name, [shortcut, f"{name}_c"]), ReLU(f"relu_{name}", [name], in_place=True)]
            blob = name
    layers += [PoolLayer("pool5", [blob], pool=Average, kernel=7)]
    layers += [LinearLayer("fc", ["pool5"], num_outputs=1000, weight_filler=MSRA), Softmax("prob", ["fc"])]
    return NetParams("ResNet-50", *layers)


class ConvBN(nn.Module):
    """A convolution with batch normalisation, as everybody writes it."""

    def __init__(self, inputs: int, filters: int, kernel: int, stride: int = 1, group: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2, groups=group, bias=False)
        self.norm = nn.BatchNorm2d(filters)

    def forward(self, x: Tensor) -> Tensor:
        """Normalised, not yet cut off at zero."""
        return self.norm(self.conv(x))


class ResNet50(nn.Module):
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

    def forward(self, x: Tensor) -> Tensor:
        """Class probabilities."""
        x = F.max_pool2d(F.relu(self.conv1(x), inplace=True), 3, 2, ceil_mode=True)
        for stage, (_, _, blocks, _) in enumerate(RESNET, 2):
            for block in range(blocks):
                name = f"res{stage}_{block}"
                shortcut = self.convs[f"{name}_0"](x) if block == 0 else x
                y = F.relu(self.convs[f"{name}_a"](x), inplace=True)
                y = F.relu(self.convs[f"{name}_b"](y), inplace=True)
                x = F.relu(shortcut + self.convs[f"{name}_c"](y), inplace=True)
        return F.softmax(self.fc(F.avg_pool2d(x, 7).flatten(1)), 1)


MOBILENET = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def mobilenet(batch: int) -> NetParams:
    """MobileNet."""
    layers = [RDDLayer("data", shape=[batch, 3, 224, 224]), *_conv_bn("conv1", "data", 32, 3, 2)]
    blob, inputs = "conv1", 32
    for index, (filters, stride) in enumerate(MOBILENET, 2):
        layers += _conv_bn(f"conv{index}_dw", blob, inputs, 3, stride, group=inputs)
        layers += _conv_bn(f"conv{index}_sep", f"conv{index}_dw", filters, 1)
        blob, inputs = f"conv{index}_sep", filters
    layers += [PoolLayer("pool", [blob], pool=Average, kernel=7)]
    layers += [ConvLayer("fc", ["pool"], kernel=1, num_filters=1000, weight_filler=MSRA), Softmax("prob", ["fc"])]
    return NetParams("MobileNet", *layers)


class MobileNet(nn.Module):
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

    def forward(self, x: Tensor) -> Tensor:
        """Class probabilities."""
        x = F.relu(self.conv1(x), inplace=True)
        for conv in self.convs.values():
            x = F.relu(conv(x), inplace=True)
        return F.softmax(self.fc(F.avg_pool2d(x, 7)), 1)


PAIRS = [
    Pair("LeNet", lenet, LeNet, (1, 28, 28), 64),
    Pair("CaffeNet", caffenet, CaffeNet, (3, 227, 227), 8),
    Pair("GoogLeNet", googlenet, GoogLeNet, (3, 224, 224), 8),
    Pair("ResNet-50", resnet50, ResNet50, (3, 224, 224), 4),
    Pair("MobileNet", mobilenet, MobileNet, (3, 224, 224), 8),
]
