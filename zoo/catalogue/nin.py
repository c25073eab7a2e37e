"""Network in Network: a small perceptron at every place after each convolution, and no fully connected layers."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, ConvLayer, Dropout, PoolLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import Average
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import MEAN_IMAGE, RATES, imagenet_data


def nin() -> CatalogueEntry:
    """Return Network in Network for ImageNet. Its layers have the published names, which skip relu4 and pool1."""
    net = CatalogueNet(
        "nin_imagenet",
        *imagenet_data(224, train_batch=64, test_batch=89, mean=MEAN_IMAGE),
        *_convolution("conv1", "relu0", "data", 96, std=0.01, kernel=11, stride=4),
        *_convolution("cccp1", "relu1", "conv1", 96),
        *_convolution("cccp2", "relu2", "cccp1", 96),
        PoolLayer("pool0", ["cccp2"], kernel=3, stride=2),
        *_convolution("conv2", "relu3", "pool0", 256, kernel=5, pad=2),
        *_convolution("cccp3", "relu5", "conv2", 256),
        *_convolution("cccp4", "relu6", "cccp3", 256),
        PoolLayer("pool2", ["cccp4"], kernel=3, stride=2),
        *_convolution("conv3", "relu7", "pool2", 384, std=0.01, kernel=3, pad=1),
        *_convolution("cccp5", "relu8", "conv3", 384),
        *_convolution("cccp6", "relu9", "cccp5", 384),
        PoolLayer("pool3", ["cccp6"], kernel=3, stride=2),
        Dropout("drop", ["pool3"], in_place=True, dropout_ratio=0.5),
        *_convolution("conv4-1024", "relu10", "pool3", 1024, top="conv4", kernel=3, pad=1),
        *_convolution("cccp7-1024", "relu11", "conv4", 1024, top="cccp7"),
        *_convolution("cccp8-1024", "relu12", "cccp7", 1000, top="cccp8", std=0.01),
        PoolLayer("pool4", ["cccp8"], pool=Average, kernel=6, stride=1),
        Accuracy("accuracy", ["pool4", "label"], include={"phase": "TEST"}),
        SoftmaxWithLoss("loss", ["pool4", "label"], include={"phase": "TRAIN"}),
    )
    solver = solver_settings(
        base_lr=0.01,
        lr_policy="step",
        gamma=0.1,
        stepsize=200_000,
        momentum=0.9,
        weight_decay=0.0005,
        max_iter=450_000,
        display=20,
        test_iter=1000,
        test_interval=1000,
        snapshot=10_000,
    )
    return CatalogueEntry(net, solver)


def _convolution(
    name: str,
    relu: str,
    bottom: str,
    filters: int,
    *,
    top: str = "",
    std: float = 0.05,
    kernel: int = 1,
    stride: int = 1,
    **sizes: Any,
) -> list[pb.LayerParameter]:
    """Return a convolution with a ReLU. The default kernel of 1x1 is for a perceptron's layers. The top has the layer's
    name by default."""
    top = top or name
    convolution = ConvLayer(
        name,
        [bottom],
        tops=[top],
        num_filters=filters,
        kernel=kernel,
        stride=stride,
        param=RATES,
        weight_filler={"type": "gaussian", "mean": 0, "std": std},
        bias_filler={"type": "constant", "value": 0},
        **sizes,
    )
    return [convolution, ReLU(relu, [top], in_place=True)]
