"""GoogLeNet, the winner of ILSVRC 2014: nine inception modules, and two auxiliary losses."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    LRN,
    Accuracy,
    Concat,
    ConvLayer,
    Dropout,
    LinearLayer,
    PoolLayer,
    ReLU,
    SoftmaxWithLoss,
)
from netdsl.dsl import Average
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import MEAN_COLOR, RATES, imagenet_data, top_5

# The filters of each inception module: the 1x1 path; the 3x3 path and its reduction; the 5x5 path and its reduction;
# the pooling path.
_INCEPTIONS = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def googlenet() -> CatalogueEntry:
    """Return GoogLeNet with the settings of Caffe's own replication."""
    net = CatalogueNet(
        "GoogleNet",
        *imagenet_data(224, train_batch=32, test_batch=50, mean=MEAN_COLOR),
        *_convolution("conv1", "7x7_s2", "data", num_filters=64, kernel=7, stride=2, pad=3),
        _half("pool1/3x3_s2", "conv1/7x7_s2"),
        _norm("pool1/norm1", "pool1/3x3_s2"),
        *_convolution("conv2", "3x3_reduce", "pool1/norm1", num_filters=64, kernel=1),
        *_convolution("conv2", "3x3", "conv2/3x3_reduce", num_filters=192, kernel=3, pad=1),
        _norm("conv2/norm2", "conv2/3x3"),
        _half("pool2/3x3_s2", "conv2/norm2"),
        *_inception("3a", "pool2/3x3_s2"),
        *_inception("3b", "inception_3a/output"),
        _half("pool3/3x3_s2", "inception_3b/output"),
        *_inception("4a", "pool3/3x3_s2"),
        *_auxiliary_loss("loss1", "inception_4a/output"),
        *_inception("4b", "inception_4a/output"),
        *_inception("4c", "inception_4b/output"),
        *_inception("4d", "inception_4c/output"),
        *_auxiliary_loss("loss2", "inception_4d/output"),
        *_inception("4e", "inception_4d/output"),
        _half("pool4/3x3_s2", "inception_4e/output"),
        *_inception("5a", "pool4/3x3_s2"),
        *_inception("5b", "inception_5a/output"),
        PoolLayer("pool5/7x7_s1", ["inception_5b/output"], pool=Average, kernel=7, stride=1),
        Dropout("pool5/drop_7x7_s1", ["pool5/7x7_s1"], in_place=True, dropout_ratio=0.4),
        *_classifier("loss3", "loss3", "pool5/7x7_s1", weight=1),
    )
    solver = solver_settings(
        base_lr=0.01,
        lr_policy="poly",
        power=0.5,
        momentum=0.9,
        weight_decay=0.0002,
        max_iter=2_400_000,
        display=40,
        average_loss=40,
        test_iter=1000,
        test_interval=4000,
        test_initialization=False,
        snapshot=40_000,
    )
    return CatalogueEntry(net, solver)


def _inception(name: str, bottom: str) -> list[pb.LayerParameter]:
    """Return an inception module: four parallel paths whose outputs are concatenated."""
    module, (one, three_reduce, three, five_reduce, five, pooled) = f"inception_{name}", _INCEPTIONS[name]
    return [
        *_convolution(module, "1x1", bottom, num_filters=one, kernel=1),
        *_convolution(module, "3x3_reduce", bottom, num_filters=three_reduce, kernel=1),
        *_convolution(module, "3x3", f"{module}/3x3_reduce", num_filters=three, kernel=3, pad=1),
        *_convolution(module, "5x5_reduce", bottom, num_filters=five_reduce, kernel=1),
        *_convolution(module, "5x5", f"{module}/5x5_reduce", num_filters=five, kernel=5, pad=2),
        PoolLayer(f"{module}/pool", [bottom], kernel=3, stride=1, pad=1),
        *_convolution(module, "pool_proj", f"{module}/pool", num_filters=pooled, kernel=1),
        Concat(f"{module}/output", [f"{module}/{way}" for way in ("1x1", "3x3", "5x5", "pool_proj")]),
    ]


def _auxiliary_loss(name: str, bottom: str) -> list[pb.LayerParameter]:
    """Return an auxiliary classifier. Its gradients reach the first layers early in training."""
    return [
        PoolLayer(f"{name}/ave_pool", [bottom], pool=Average, kernel=5, stride=3),
        *_convolution(name, "conv", f"{name}/ave_pool", num_filters=128, kernel=1),
        LinearLayer(f"{name}/fc", [f"{name}/conv"], num_outputs=1024, param=RATES, **_fillers(0.2)),
        ReLU(f"{name}/relu_fc", [f"{name}/fc"], in_place=True),
        Dropout(f"{name}/drop_fc", [f"{name}/fc"], in_place=True, dropout_ratio=0.7),
        *_classifier(name, "loss", f"{name}/fc", weight=0.3),
    ]


def _classifier(name: str, loss: str, bottom: str, *, weight: float) -> list[pb.LayerParameter]:
    scores = f"{name}/classifier"
    return [
        LinearLayer(scores, [bottom], num_outputs=1000, param=RATES, **_fillers(0)),
        SoftmaxWithLoss(f"{name}/{loss}", [scores, "label"], tops=[f"{name}/{name}"], loss_weight=weight),
        Accuracy(f"{name}/top-1", [scores, "label"], include={"phase": "TEST"}),
        top_5(f"{name}/top-5", [scores, "label"]),
    ]


def _convolution(module: str, part: str, bottom: str, **sizes: int) -> list[pb.LayerParameter]:
    name = f"{module}/{part}"
    return [
        ConvLayer(name, [bottom], param=RATES, **sizes, **_fillers(0.2)),
        ReLU(f"{module}/relu_{part.removesuffix('_s2')}", [name], in_place=True),
    ]


def _half(name: str, bottom: str) -> pb.LayerParameter:
    return PoolLayer(name, [bottom], kernel=3, stride=2)


def _norm(name: str, bottom: str) -> pb.LayerParameter:
    return LRN(name, [bottom], local_size=5, alpha=0.0001, beta=0.75)


def _fillers(bias: float) -> dict[str, Any]:
    return {"weight_filler": {"type": "xavier"}, "bias_filler": {"type": "constant", "value": bias}}
