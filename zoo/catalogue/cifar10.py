"""Caffe's two nets for CIFAR-10: a quick one, and a full one with local normalization."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import LRN, Accuracy, ConvLayer, LinearLayer, PoolLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import Average, Data
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings

_RATES = [{"lr_mult": 1}, {"lr_mult": 2}]  # learning rates of weights and biases
_BATCH = 100


def cifar10_quick() -> CatalogueEntry:
    """Return the quick net, which trains in minutes."""
    net = CatalogueNet(
        "CIFAR10_quick",
        *_data(),
        *_first_stage(),
        *_stage(2, "pool1", 32, param=_RATES),
        *_stage(3, "pool2", 64, param=_RATES),
        _linear("ip1", "pool3", 64, std=0.1, param=_RATES),
        _linear("ip2", "ip1", 10, std=0.1, param=_RATES),
        *_ends("ip2"),
    )
    return CatalogueEntry(net, _solver([4000], max_iter=5000, display=100, test_interval=500, snapshot=4000))


def cifar10_full() -> CatalogueEntry:
    """Return the more accurate net. Its classifier's weights decay much faster than the others."""
    decay = [{"lr_mult": 1, "decay_mult": 250}, {"lr_mult": 2, "decay_mult": 0}]
    net = CatalogueNet(
        "CIFAR10_full",
        *_data(),
        *_first_stage(),
        _norm("norm1", "pool1"),
        *_stage(2, "norm1", 32, param=_RATES),
        _norm("norm2", "pool2"),
        *_stage(3, "norm2", 64),
        _linear("ip1", "pool3", 10, std=0.01, param=decay),
        *_ends("ip1"),
    )
    return CatalogueEntry(
        net, _solver([60_000, 65_000], max_iter=70_000, display=200, test_interval=1000, snapshot=10_000)
    )


def _solver(steps: list[int], **settings: Any) -> pb.SolverParameter:
    """Return Caffe's settings. Caffe runs several solvers in a row; here they are steps of one solver."""
    return solver_settings(
        base_lr=0.001,
        lr_policy="multistep",
        gamma=0.1,
        stepvalue=steps,
        momentum=0.9,
        weight_decay=0.004,
        test_iter=100,
        **settings,
    )


def _data() -> list[pb.LayerParameter]:
    return [
        Data(
            "cifar",
            tops=["data", "label"],
            include={"phase": phase},
            transform_param={"mean_file": "examples/cifar10/mean.binaryproto"},
            source=f"examples/cifar10/cifar10_{phase.lower()}_lmdb",
            batch_size=_BATCH,
            backend="LMDB",
            input_param={"shape": {"dim": [_BATCH, 3, 32, 32]}},
        )
        for phase in ("TRAIN", "TEST")
    ]


def _first_stage() -> list[pb.LayerParameter]:
    """Return a convolution with max pooling before its ReLU, unlike the other stages with average pooling."""
    return [
        _convolution("conv1", "data", 32, std=0.0001, param=_RATES),
        PoolLayer("pool1", ["conv1"], kernel=3, stride=2),
        ReLU("relu1", ["pool1"], in_place=True),
    ]


def _stage(number: int, bottom: str, filters: int, **rates: Any) -> list[pb.LayerParameter]:
    name = f"conv{number}"
    return [
        _convolution(name, bottom, filters, std=0.01, **rates),
        ReLU(f"relu{number}", [name], in_place=True),
        PoolLayer(f"pool{number}", [name], pool=Average, kernel=3, stride=2),
    ]


def _convolution(name: str, bottom: str, filters: int, *, std: float, **rates: Any) -> pb.LayerParameter:
    return ConvLayer(name, [bottom], num_filters=filters, kernel=5, stride=1, pad=2, **_fillers(std), **rates)


def _norm(name: str, bottom: str) -> pb.LayerParameter:
    return LRN(name, [bottom], local_size=3, alpha=5e-05, beta=0.75, norm_region="WITHIN_CHANNEL")


def _linear(name: str, bottom: str, outputs: int, *, std: float, **rates: Any) -> pb.LayerParameter:
    return LinearLayer(name, [bottom], num_outputs=outputs, **_fillers(std), **rates)


def _ends(scores: str) -> list[pb.LayerParameter]:
    return [
        Accuracy("accuracy", [scores, "label"], include={"phase": "TEST"}),
        SoftmaxWithLoss("loss", [scores, "label"]),
    ]


def _fillers(std: float) -> dict[str, Any]:
    return {"weight_filler": {"type": "gaussian", "std": std}, "bias_filler": {"type": "constant"}}
