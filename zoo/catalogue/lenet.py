"""LeNet, the classic teaching example: two convolutions and two fully connected layers."""

from __future__ import annotations

from typing import Any, Literal

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, ConvLayer, LinearLayer, Max, PoolLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import Data
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings

_XAVIER = {"type": "xavier"}
_RATES = [{"lr_mult": 1}, {"lr_mult": 2}]  # learning rates of weights and biases


def _digits(phase: Literal["TRAIN", "TEST"], **data: Any) -> pb.LayerParameter:
    return Data(
        "data",
        tops=["data", "label"],
        include={"phase": phase},
        transform_param={
            "scale": 1 / 256,
            "force_gray": True,
            "crop_size": 28,
            "resize_param": {"resize_mode": "WARP", "height": 32, "width": 32},
        },
        **data,
    )


def lenet() -> CatalogueEntry:
    """Return LeNet for images of digits in any size. It trains in less than a minute on a CPU."""
    net = CatalogueNet(
        "LeNet",
        _digits("TRAIN", source="digits:train", batch_size=64, shuffle=True),
        _digits("TEST", source="digits:test", batch_size=36),
        ConvLayer("conv1", ["data"], kernel=5, num_filters=20, weight_filler=_XAVIER, param=_RATES),
        PoolLayer("pool1", ["conv1"], pool=Max, kernel=2, stride=2),
        ConvLayer("conv2", ["pool1"], kernel=5, num_filters=50, weight_filler=_XAVIER, param=_RATES),
        PoolLayer("pool2", ["conv2"], pool=Max, kernel=2, stride=2),
        LinearLayer("ip1", ["pool2"], num_outputs=500, weight_filler=_XAVIER, param=_RATES),
        ReLU("relu1", ["ip1"], in_place=True),
        LinearLayer("ip2", ["ip1"], num_outputs=10, weight_filler=_XAVIER, param=_RATES),
        Accuracy("accuracy", ["ip2", "label"], include={"phase": "TEST"}),
        SoftmaxWithLoss("loss", ["ip2", "label"]),
    )
    solver = solver_settings(
        type="SGD",
        base_lr=0.02,
        lr_policy="inv",
        gamma=0.0001,
        power=0.75,
        momentum=0.9,
        weight_decay=0.0005,
        max_iter=800,
        display=40,
        test_iter=10,
        test_interval=80,
        random_seed=1,
    )
    return CatalogueEntry(net, solver)
