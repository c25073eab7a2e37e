"""A small SSD for pictures with several shapes, which this package draws. It trains from scratch in minutes."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, Max, PoolLayer, ReLU
from netdsl.dsl import BatchNorm, Scale
from zoo.catalogue._multibox import BoxedBlob, annotated_data, box_layers, detections, multibox_loss
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_CLASSES = 5  # including the background
_SIDE = 96
_MSRA = {"type": "msra"}

# Boxes of 16 to 60 pixels, since no shape is larger than half of a picture.
_SOURCES = (
    BoxedBlob("conv4", 16, 28, [2], step=8),
    BoxedBlob("conv5", 28, 42, [2], step=16),
    BoxedBlob("conv6", 42, 60, [2], step=32),
)


def ssd_shapes(classes: int = _CLASSES) -> CatalogueEntry:
    """Return six convolutions, the last three of which have default boxes."""
    images: dict[str, Any] = {
        "labels": "labelmap.prototxt",
        "side": _SIDE,
    }
    scaled = {"mean_value": [128, 128, 128], "scale": 1 / 64}
    quieter = {**scaled, "expand_param": {"prob": 0.3, "max_expand_ratio": 1.5}}
    net = CatalogueNet(
        "SSD_shapes",
        annotated_data(TRAIN_ONLY, source="train_lmdb", batch_size=32, transform=quieter, **images),
        annotated_data(TEST_ONLY, source="test_lmdb", batch_size=20, transform=scaled, **images),
        *_conv("conv1", "data", 16),
        *_halved("conv2", "conv1", 32),
        *_halved("conv3", "conv2", 64),
        *_halved("conv4", "conv3", 64),
        *_halved("conv5", "conv4", 96),
        *_halved("conv6", "conv5", 96),
        *box_layers(_SOURCES, locations=_predictor, confidences=_predictor, classes=classes),
        multibox_loss(classes),
        *detections(classes),
    )
    solver = solver_settings(
        type="Adam",
        base_lr=0.002,
        lr_policy="poly",
        power=1,
        momentum=0.9,
        momentum2=0.999,
        max_iter=800,
        display=50,
        test_iter=10,
        test_interval=200,
        test_initialization=False,
        eval_type="detection",
        ap_version="11point",
        random_seed=1,
    )
    return CatalogueEntry(net, solver)


def _conv(name: str, bottom: str, width: int) -> list[pb.LayerParameter]:
    """Return a convolution, its normalization and a ReLU."""
    fixed = pb.ParamSpec(lr_mult=0, decay_mult=0)
    return [
        ConvLayer(name, [bottom], kernel=3, pad=1, num_filters=width, bias_term=False, weight_filler=_MSRA),
        BatchNorm(f"{name}_norm", [name], in_place=True, param=[fixed] * 3),
        Scale(f"{name}_scale", [name], in_place=True, filler={"value": 1}, bias_term=True),
        ReLU(f"{name}_relu", [name], in_place=True),
    ]


def _halved(name: str, bottom: str, width: int) -> list[pb.LayerParameter]:
    pool = f"{bottom}_pool"
    return [PoolLayer(pool, [bottom], pool=Max, kernel=2, stride=2), *_conv(name, pool, width)]


def _predictor(name: str, bottom: str, channels: int) -> pb.LayerParameter:
    return ConvLayer(name, [bottom], kernel=3, pad=1, num_filters=channels, weight_filler={"type": "xavier"})
