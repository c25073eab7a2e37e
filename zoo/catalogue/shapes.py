"""A small net for pictures of shapes. This package draws the pictures and includes the weights."""

from __future__ import annotations

from typing import Any, Literal

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, ConvLayer, LinearLayer, PoolLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import Average, Data, Max
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings

_MSRA = {"type": "msra"}
_RATES = [{"lr_mult": 1}, {"lr_mult": 2}]  # learning rates of weights and biases


def _pictures(phase: Literal["TRAIN", "TEST"], **data: Any) -> pb.LayerParameter:
    return Data(
        "data",
        tops=["data", "label"],
        include={"phase": phase},
        transform_param={
            "scale": 1 / 64,
            "mean_value": [128, 128, 128],
            "crop_size": 40,
            "mirror": phase == "TRAIN",
            "resize_param": {"resize_mode": "WARP", "height": 44, "width": 44},
        },
        **data,
    )


def _stage(number: int, bottom: str, filters: int, pool: Any) -> list[pb.LayerParameter]:
    conv = f"conv{number}"
    return [
        ConvLayer(conv, [bottom], kernel=5, pad=2, num_filters=filters, weight_filler=_MSRA, param=_RATES),
        ReLU(f"relu{number}", [conv], in_place=True),
        PoolLayer(f"pool{number}", [conv], pool=pool, kernel=3, stride=2),
    ]


def shapes() -> CatalogueEntry:
    """Return three stages of convolution and pooling, as in CIFAR-10's quick net."""
    net = CatalogueNet(
        "Shapes",
        _pictures("TRAIN", source="shapes:train", batch_size=50, shuffle=True),
        _pictures("TEST", source="shapes:test", batch_size=50),
        *_stage(1, "data", 32, Max),
        *_stage(2, "pool1", 32, Average),
        *_stage(3, "pool2", 64, Average),
        LinearLayer("ip1", ["pool3"], num_outputs=64, weight_filler=_MSRA, param=_RATES),
        ReLU("relu4", ["ip1"], in_place=True),
        LinearLayer("ip2", ["ip1"], num_outputs=4, weight_filler=_MSRA, param=_RATES),
        Accuracy("accuracy", ["ip2", "label"], include={"phase": "TEST"}),
        SoftmaxWithLoss("loss", ["ip2", "label"]),
    )
    solver = solver_settings(
        type="SGD",
        base_lr=0.01,
        lr_policy="poly",
        power=1,
        momentum=0.9,
        weight_decay=0.001,
        max_iter=1600,
        display=100,
        test_iter=8,
        test_interval=200,
        random_seed=1,
    )
    return CatalogueEntry(net, solver)
