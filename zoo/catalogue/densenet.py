"""DenseNet: every layer of a block reads the output of all earlier layers and adds a few channels to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    Accuracy,
    Average,
    BatchNorm,
    Concat,
    ConvLayer,
    Max,
    Pooling,
    PoolLayer,
    ReLU,
    Scale,
    SoftmaxWithLoss,
)
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import SCALED, imagenet_data, top_5

_MSRA = pb.FillerParameter(type="msra")
_EPOCH = 5005  # number of iterations with 256 images each


def _normalized(name: str, relu: str, bottom: str) -> list[pb.LayerParameter]:
    """Return BatchNorm, Scale and ReLU, which come before a convolution here. Their blob is `name`/bn."""
    return [
        BatchNorm(f"{name}/bn", [bottom], eps=1e-5),
        Scale(f"{name}/scale", [f"{name}/bn"], in_place=True, bias_term=True),
        ReLU(relu, [f"{name}/bn"], in_place=True),
    ]


def _convolution(name: str, bottom: str, filters: int, kernel: int, stride: int = 1) -> pb.LayerParameter:
    return ConvLayer(
        name,
        [bottom],
        kernel=kernel,
        num_filters=filters,
        stride=stride,
        pad=kernel // 2,
        bias_term=False,
        weight_filler=_MSRA,
    )


def _dense_layer(name: str, bottom: str, growth: int) -> Iterator[pb.LayerParameter]:
    """Yield a layer that adds `growth` channels. The 1x1 convolution x1 reduces the input's channels, and the 3x3
    convolution x2 follows."""
    x1, x2 = f"conv{name}/x1", f"conv{name}/x2"
    yield from _normalized(x1, f"relu{name}/x1", bottom)
    yield _convolution(x1, f"{x1}/bn", 4 * growth, 1)
    yield from _normalized(x2, f"relu{name}/x2", x1)
    yield _convolution(x2, f"{x2}/bn", growth, 3)
    yield Concat(f"concat_{name}", [bottom, x2])


def _layers(depths: Sequence[int], channels: int, growth: int) -> Iterator[pb.LayerParameter]:
    """Yield the layers from the images to the scores. The transitions between blocks halve the channels and the
    sides."""
    yield _convolution("conv1", "data", channels, 7, 2)
    yield from _normalized("conv1", "relu1", "conv1")
    yield PoolLayer("pool1", ["conv1/bn"], pool=Max, kernel=3, stride=2, pad=1, round_mode="FLOOR")
    blob = "pool1"
    for stage, depth in enumerate(depths, 2):
        for number in range(1, depth + 1):
            yield from _dense_layer(f"{stage}_{number}", blob, growth)
            blob = f"concat_{stage}_{number}"
        block = f"conv{stage}_blk"
        yield from _normalized(block, f"relu{stage}_blk", blob)
        blob, channels = f"pool{stage}", (channels + depth * growth) // 2
        if stage < len(depths) + 1:
            yield _convolution(block, f"{block}/bn", channels, 1)
            yield PoolLayer(blob, [block], pool=Average, kernel=2, stride=2)
        else:
            yield Pooling(blob, [f"{block}/bn"], pool=Average, global_pooling=True)
    yield ConvLayer("fc6", [blob], kernel=1, num_filters=1000, weight_filler=_MSRA)


def densenet_121() -> CatalogueEntry:
    """Return a DenseNet with 121 layers."""
    net = CatalogueNet(
        "DENSENET_121",
        *imagenet_data(224, train_batch=32, test_batch=50, mean=SCALED),
        *_layers(depths=(6, 12, 24, 16), channels=64, growth=32),
        SoftmaxWithLoss("loss", ["fc6", "label"]),
        Accuracy("top1/acc", ["fc6", "label"], include={"phase": "TEST"}),
        top_5("top5/acc", ["fc6", "label"]),
    )
    solver = solver_settings(
        type="Nesterov",
        base_lr=0.1,
        lr_policy="multistep",
        stepvalue=[30 * _EPOCH, 60 * _EPOCH],
        gamma=0.1,
        momentum=0.9,
        weight_decay=0.0001,
        iter_size=8,
        max_iter=90 * _EPOCH,
        display=20,
        test_iter=1000,
        test_interval=_EPOCH,
        test_initialization=False,
        snapshot=_EPOCH,
    )
    return CatalogueEntry(net, solver)
