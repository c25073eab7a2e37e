"""Well-known networks, narrow and written by hand: as Caffe nets, they compute the same values."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from caffe_proto.files import CaffeFile, write
from converters.rewriting import Rewrites, rewrite
from converters.targets.proving import try_in_target
from converters.targets.rules import lacks
from converters.targets.target import TARGETS
from converters.torch_import import from_torch
from netdsl.model.model import Model
from netdsl.model.weights.writing import write_weights
from netdsl.net.graph import Phase


def alex_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 11, 4, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.Conv2d(8, 12, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.Conv2d(12, 10, 3, padding=1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((3, 3)), nn.Flatten(),
        nn.Dropout(), nn.Linear(90, 16), nn.ReLU(inplace=True), nn.Linear(16, 7),
    )  # fmt: skip


def vgg_11() -> nn.Module:
    layers: list[nn.Module] = []
    channels = 3
    for width in (4, 0, 6, 0, 8, 8, 0, 9, 9, 0, 9, 9, 0):
        if not width:
            layers.append(nn.MaxPool2d(2, 2))
            continue
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
        channels = width
    head = [
        nn.AdaptiveAvgPool2d((2, 2)),
        nn.Flatten(),
        nn.Linear(36, 11),
        nn.ReLU(True),
        nn.Dropout(),
        nn.Linear(11, 7),
    ]
    return nn.Sequential(*layers, *head)


class Basic(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.downsample = short if stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        widths = [(4, 4, 1), (4, 6, 2), (6, 8, 2), (8, 10, 2)]
        self.layers = nn.Sequential(*[nn.Sequential(Basic(a, b, s), Basic(b, b, 1)) for a, b, s in widths])
        self.fc = nn.Linear(10, 7)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(self.maxpool(F.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Fire(nn.Module):
    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.expand1x1, self.expand3x3 = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand + 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], 1)


def squeeze_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(6, 2, 4), Fire(9, 3, 5),
        nn.MaxPool2d(3, 2, ceil_mode=True), Fire(11, 3, 6), nn.Dropout(), nn.Conv2d(13, 7, 1), nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
    )  # fmt: skip


class Inverted(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, *, gated: bool = False) -> None:
        super().__init__()
        inner, act = inputs * 3, nn.Hardswish if gated else nn.ReLU6
        self.same = inputs == outputs and stride == 1
        self.expand = nn.Sequential(nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner), act())
        deep = nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False)
        self.deep = nn.Sequential(deep, nn.BatchNorm2d(inner), act())
        gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, 5, 1), nn.ReLU(), nn.Conv2d(5, inner, 1))
        self.gate = gate if gated else None
        self.project = nn.Sequential(nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = self.deep(self.expand(x))
        y = y if self.gate is None else y * F.hardsigmoid(self.gate(y))
        y = self.project(y)
        return x + y if self.same else y


class LaterMobileNet(nn.Module):
    """The second MobileNet, or with gates the third."""

    def __init__(self, *, gated: bool) -> None:
        super().__init__()
        blocks = [Inverted(4, 4, 1, gated=gated), Inverted(4, 6, 2, gated=gated), Inverted(6, 6, 1, gated=gated)]
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), *blocks)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(6, 7))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


class Inception(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.one, self.three = nn.Conv2d(inputs, 4, 1), nn.Conv2d(inputs, 5, 3, padding=1)
        self.five, self.pool = nn.Conv2d(inputs, 3, 5, padding=2), nn.Conv2d(inputs, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        pooled = self.pool(F.max_pool2d(x, 3, 1, 1, ceil_mode=True))
        averaged = F.avg_pool2d(x, 3, 1, 1)
        return torch.cat([F.relu(self.one(x)), self.three(averaged), self.five(x), pooled], 1)


class TransformedGoogLeNet(nn.Module):
    """GoogLeNet with its input transformed as torchvision does."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 7, 2, 3)
        self.blocks = nn.Sequential(Inception(6), nn.MaxPool2d(3, 2, ceil_mode=True), Inception(14))
        self.fc = nn.Linear(14, 7)

    def forward(self, x: Tensor) -> Tensor:
        channels = [torch.unsqueeze(x[:, rank], 1) * (0.458 + rank / 100) + (rank - 1) / 10 for rank in range(3)]
        x = self.blocks(self.conv1(torch.cat(channels, 1)))
        return F.softmax(self.fc(x.mean((2, 3)).view(x.size(0), -1)), dim=1)


class Dense(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 3, 3, padding=1, bias=False)

    def forward(self, features: list[Tensor]) -> Tensor:
        return F.dropout(self.conv(F.relu(self.norm(torch.cat(features, 1)))), 0.1, self.training)


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv0, self.layers = nn.Conv2d(3, 5, 3, 2, 1), nn.ModuleList([Dense(5 + 3 * rank) for rank in range(3)])
        self.norm, self.transition = nn.BatchNorm2d(14), nn.AvgPool2d(2, 2)
        self.classifier = nn.Linear(14, 7)

    def forward(self, x: Tensor) -> Tensor:
        features = [self.conv0(x)]
        for layer in self.layers:
            features.append(layer(features))
        x = self.transition(F.relu(self.norm(torch.cat(features, 1)), inplace=True))
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Shuffle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.branch, self.fc = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(4, 4, 3, padding=1), nn.Linear(8, 7)

    def forward(self, x: Tensor) -> Tensor:
        kept, moved = self.conv(x).chunk(2, dim=1)
        x = torch.cat((kept, self.branch(moved)), 1)
        count, channels, height, width = x.size()
        x = x.view(count, 2, channels // 2, height, width).transpose(1, 2).contiguous()
        return self.fc(x.view(count, channels, height, width).mean([2, 3]))


NETS = {
    "AlexNet": alex_net,
    "VGG-11": vgg_11,
    "ResNet-18": ResNet18,
    "SqueezeNet": squeeze_net,
    "MobileNetV2": lambda: LaterMobileNet(gated=False),
    "MobileNetV3": lambda: LaterMobileNet(gated=True),
    "GoogLeNet": TransformedGoogLeNet,
    "DenseNet": DenseNet,
    "ShuffleNetV2": Shuffle,
}


def trained(name: str) -> nn.Module:
    """Return a net whose normalizations have seen data."""
    torch.manual_seed(3)
    module = NETS[name]()
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d):
            for tensor in (each.running_var, each.weight):
                nn.init.uniform_(tensor, 0.5, 1.5)
            for tensor in (each.running_mean, each.bias):
                nn.init.normal_(tensor, std=0.3)
    return module.eval()


def run(model: Model, *inputs: Tensor) -> list[Tensor]:
    with torch.no_grad():
        return list(model.module(Phase.TEST)(*inputs).values())


@pytest.mark.parametrize("name", NETS)
def test_a_classic_computes_the_same_for_other_images_and_another_batch(name: str) -> None:
    module = trained(name)
    model = from_torch(module, [torch.randn(2, 3, 64, 68)], name=name)
    images = torch.randn(3, 3, 64, 68)
    with torch.no_grad():
        wanted = module(images)
    (found,) = run(model, images)
    spread = float(np.ptp(wanted.numpy()))
    assert spread > 0
    assert (found - wanted).abs().max() <= 1e-5 * spread  # sums in single precision, in another order
    assert model.net.name == name


def test_layers_are_named_after_the_modules() -> None:
    model = from_torch(trained("ResNet-18"), [torch.randn(2, 3, 64, 68)])
    kinds = Counter(layer.type for layer in model.net.layer)
    assert kinds == {"Input": 1, "Convolution": 20, "BatchNorm": 20, "Scale": 20, "ReLU": 17, "Eltwise": 8,
                     "Pooling": 2, "Flatten": 1, "InnerProduct": 1}  # fmt: skip
    names = [layer.name for layer in model.net.layer]
    assert {"conv1", "layers.1.0.downsample.1", "layers.3.1.relu_2", "layers.0.1.add", "fc"} <= set(names)
    assert [blob.shape for blob in model.weights["fc"]] == [(7, 10), (7,)]


@pytest.mark.parametrize("name", ["SqueezeNet", "DenseNet", "ShuffleNetV2"])
def test_another_reader_of_caffe_nets_computes_the_same(name: str, tmp_path: Path) -> None:
    module, image = trained(name), torch.randn(1, 3, 64, 68)
    model = from_torch(module, [image])
    write(CaffeFile(model.net), tmp_path / "net.prototxt")
    write_weights(model.weights, tmp_path / "net.caffemodel", net=model.net)
    reader = cv2.dnn.readNetFromCaffe(str(tmp_path / "net.prototxt"), str(tmp_path / "net.caffemodel"))
    reader.setInput(image.numpy())
    with torch.no_grad():
        wanted = module(image).numpy()
    assert np.abs(reader.forward().reshape(wanted.shape) - wanted).max() <= 1e-5 * np.ptp(wanted)


@pytest.mark.parametrize("name", sorted(NETS.keys() - {"GoogLeNet", "ShuffleNetV2"}))
def test_a_classic_keeps_the_rules_of_a_chip_that_reads_caffe(name: str) -> None:
    model = from_torch(trained(name), [torch.randn(1, 3, 64, 68)])
    assert try_in_target(model, TARGETS["nnie"], 0) == []
    fitting, proofs = rewrite(model, Rewrites(lacks=partial(lacks, TARGETS["nnie"])))
    assert all(proof.difference is not None and proof.difference <= 1e-5 for proof in proofs)
    assert {layer.type for layer in fitting.net.layer} <= set(TARGETS["nnie"].layers)
