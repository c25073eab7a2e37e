"""Six nets, each in two forms: in netdsl's DSL, and by hand in torch with layers of the same names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.nets.by_hand import ByHand
from benchmarks.nets.caffenet import AlexNet, CaffeNet, alexnet, caffenet
from benchmarks.nets.googlenet import GoogLeNet, googlenet
from benchmarks.nets.lenet import LeNet, lenet
from benchmarks.nets.mobilenet import MobileNet, mobilenet
from benchmarks.nets.resnet import ResNet50, resnet50
from netdsl import NetParams


@dataclass(frozen=True)
class NetPair:
    """A net, the same net by hand, and the shapes of their inputs."""

    name: str
    params: Callable[[int], NetParams]
    by_hand: Callable[[], ByHand]
    image: tuple[int, int, int]
    batch: int
    training_batch: int


PAIRS = [
    NetPair("LeNet", lenet, LeNet, (1, 28, 28), 64, 64),
    NetPair("AlexNet", alexnet, AlexNet, (3, 227, 227), 8, 16),
    NetPair("CaffeNet", caffenet, CaffeNet, (3, 227, 227), 8, 16),
    NetPair("GoogLeNet", googlenet, GoogLeNet, (3, 224, 224), 8, 16),
    NetPair("ResNet-50", resnet50, ResNet50, (3, 224, 224), 4, 4),
    NetPair("MobileNet", mobilenet, MobileNet, (3, 224, 224), 8, 8),
]
