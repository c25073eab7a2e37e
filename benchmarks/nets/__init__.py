"""Six nets, each twice: as a Caffe net in our DSL, and written by hand in torch with layers of the same names."""

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
class Pair:
    """A net, the same by hand, and the shape to run them on."""

    name: str
    params: Callable[[int], NetParams]
    by_hand: Callable[[], ByHand]
    image: tuple[int, int, int]
    batch: int
    training_batch: int


PAIRS = [
    Pair("LeNet", lenet, LeNet, (1, 28, 28), 64, 64),
    Pair("AlexNet", alexnet, AlexNet, (3, 227, 227), 8, 16),
    Pair("CaffeNet", caffenet, CaffeNet, (3, 227, 227), 8, 16),
    Pair("GoogLeNet", googlenet, GoogLeNet, (3, 224, 224), 8, 16),
    Pair("ResNet-50", resnet50, ResNet50, (3, 224, 224), 4, 4),
    Pair("MobileNet", mobilenet, MobileNet, (3, 224, 224), 8, 8),
]
