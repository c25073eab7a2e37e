"""Six nets, each from the zoo's catalogue and hand-written in torch with layers of the same names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from benchmarks.nets.by_hand import ByHand
from benchmarks.nets.caffenet import AlexNet, CaffeNet
from benchmarks.nets.googlenet import GoogLeNet
from benchmarks.nets.lenet import LeNet
from benchmarks.nets.mobilenet import MobileNet
from benchmarks.nets.resnet import ResNet50
from netdsl import NetParams
from netdsl.model.deploy.deploy_net import deploy
from zoo import catalogue


@dataclass(frozen=True)
class NetPair:
    """A net, its hand-written version, and the shapes of their inputs."""

    name: str
    params: Callable[[int], NetParams]
    by_hand: Callable[[], ByHand]
    image: tuple[int, int, int]
    batch: int
    training_batch: int


def in_catalogue(name: str) -> Callable[[int], NetParams]:
    """Return a function that builds a deployed net of the catalogue for batches of any size, with random weights."""

    def params(batch: int) -> NetParams:
        net = deploy(catalogue.entry_of(name).train_val.message, batch=batch)
        for layer in net.layer:
            for settings in (layer.convolution_param, layer.inner_product_param):
                if settings.num_output:
                    settings.weight_filler.type = "msra"
        return NetParams(net.name, *net.layer)

    return params


PAIRS = [
    NetPair("LeNet", in_catalogue("lenet"), LeNet, (1, 28, 28), 64, 64),
    NetPair("AlexNet", in_catalogue("alexnet"), AlexNet, (3, 227, 227), 8, 16),
    NetPair("CaffeNet", in_catalogue("caffenet"), CaffeNet, (3, 227, 227), 8, 16),
    NetPair("GoogLeNet", in_catalogue("googlenet"), GoogLeNet, (3, 224, 224), 8, 16),
    NetPair("ResNet-50", in_catalogue("resnet-50"), ResNet50, (3, 224, 224), 4, 4),
    NetPair("MobileNet", in_catalogue("mobilenet-v1"), MobileNet, (3, 224, 224), 8, 8),
]


def chosen_pairs(names: Collection[str]) -> list[NetPair]:
    """Return the nets of these names, or all nets if none is named."""
    known = [pair.name for pair in PAIRS]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no net {', '.join(unknown)}; choose from {', '.join(known)}")
    return [pair for pair in PAIRS if not names or pair.name in names]
