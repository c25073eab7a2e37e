"""AlexNet, which won ILSVRC 2012 and made deep learning popular, and CaffeNet, Caffe's own variant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import LRN, Accuracy, ConvLayer, Dropout, LinearLayer, PoolLayer, ReLU, SoftmaxWithLoss
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import MEAN_IMAGE, RATES, imagenet_data


def alexnet() -> CatalogueEntry:
    """Return AlexNet, which normalizes before it pools."""
    return _entry("AlexNet", ("norm", "pool"), bias=0.1)


def caffenet() -> CatalogueEntry:
    """Return CaffeNet, which pools before it normalizes to save work, and starts with larger biases."""
    return _entry("CaffeNet", ("pool", "norm"), bias=1)


def _entry(name: str, order: tuple[str, str], *, bias: float) -> CatalogueEntry:
    _, last = order
    net = CatalogueNet(
        name,
        *imagenet_data(227, train_batch=256, test_batch=50, mean=MEAN_IMAGE),
        *_convolution(1, "data", num_filters=96, kernel=11, stride=4),
        *_shrink(1, order),
        *_convolution(2, f"{last}1", num_filters=256, kernel=5, pad=2, group=2, bias=bias),
        *_shrink(2, order),
        *_convolution(3, f"{last}2", num_filters=384, kernel=3, pad=1),
        *_convolution(4, "conv3", num_filters=384, kernel=3, pad=1, group=2, bias=bias),
        *_convolution(5, "conv4", num_filters=256, kernel=3, pad=1, group=2, bias=bias),
        _pool("pool5", "conv5"),
        *_hidden(6, "pool5", bias),
        *_hidden(7, "fc6", bias),
        LinearLayer("fc8", ["fc7"], num_outputs=1000, param=RATES, **_fillers(0.01, 0)),
        Accuracy("accuracy", ["fc8", "label"], include={"phase": "TEST"}),
        SoftmaxWithLoss("loss", ["fc8", "label"]),
    )
    solver = solver_settings(
        base_lr=0.01,
        lr_policy="step",
        gamma=0.1,
        stepsize=100_000,
        momentum=0.9,
        weight_decay=0.0005,
        max_iter=450_000,
        display=20,
        test_iter=1000,
        test_interval=1000,
        snapshot=10_000,
    )
    return CatalogueEntry(net, solver)


def _convolution(number: int, bottom: str, *, bias: float = 0, **sizes: Any) -> list[pb.LayerParameter]:
    name = f"conv{number}"
    return [
        ConvLayer(name, [bottom], param=RATES, **sizes, **_fillers(0.01, bias)),
        ReLU(f"relu{number}", [name], in_place=True),
    ]


def _shrink(number: int, order: tuple[str, str]) -> Iterator[pb.LayerParameter]:
    """Yield pooling and normalization in the given order."""
    bottom = f"conv{number}"
    for kind in order:
        yield {"norm": _norm, "pool": _pool}[kind](f"{kind}{number}", bottom)
        bottom = f"{kind}{number}"


def _norm(name: str, bottom: str) -> pb.LayerParameter:
    return LRN(name, [bottom], local_size=5, alpha=0.0001, beta=0.75)


def _pool(name: str, bottom: str) -> pb.LayerParameter:
    return PoolLayer(name, [bottom], kernel=3, stride=2)


def _hidden(number: int, bottom: str, bias: float) -> list[pb.LayerParameter]:
    name = f"fc{number}"
    return [
        LinearLayer(name, [bottom], num_outputs=4096, param=RATES, **_fillers(0.005, bias)),
        ReLU(f"relu{number}", [name], in_place=True),
        Dropout(f"drop{number}", [name], in_place=True, dropout_ratio=0.5),
    ]


def _fillers(std: float, bias: float) -> dict[str, Any]:
    return {
        "weight_filler": {"type": "gaussian", "std": std},
        "bias_filler": {"type": "constant", "value": bias},
    }
