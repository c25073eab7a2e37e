"""FCN: a VGG-16 with convolutions in place of its fully connected layers, which predicts a class for every pixel.

Its scores are 32 pixels apart. FCN-16s and FCN-8s add the scores of earlier, finer layers before upsampling.
"""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, Max, PoolLayer, SoftmaxWithLoss
from netdsl.dsl import Crop, Deconvolution, Dropout, Eltwise, Python
from zoo.catalogue._vgg_trunk import conv_relu, rates, vgg_trunk
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_CLASSES = 21  # classes of PASCAL VOC, including the background
_MEAN = (104.00699, 116.66877, 122.67892)
_LEARNED = rates(1)


def _images(phase: pb.NetStateRule, layer: str, **settings: str | int) -> pb.LayerParameter:
    """Return a data layer for single images of any size, with a class for each pixel. The label 255 means no class."""
    code = pb.PythonParameter(module="voc_layers", layer=layer, param_str=str({**settings, "mean": _MEAN}))
    return Python("data", tops=["data", "label"], python_param=code, include=phase)


def _upsample(name: str, bottom: str, factor: int) -> pb.LayerParameter:
    """Return an interpolation that isn't trained."""
    kernel, fixed = 2 * factor, pb.ParamSpec(lr_mult=0)
    return Deconvolution(
        name, [bottom], num_output=_CLASSES, bias_term=False, kernel_size=kernel, stride=factor, param=fixed
    )


def _scores(name: str, bottom: str) -> pb.LayerParameter:
    return ConvLayer(name, [bottom], kernel=1, pad=0, num_filters=_CLASSES, **_LEARNED)


def _crop(name: str, bottom: str, reference: str, offset: int) -> pb.LayerParameter:
    return Crop(name, [bottom, reference], axis=2, offset=offset)


def _fuse(pool: str, upsampled: str, *, offset: int) -> list[pb.LayerParameter]:
    """Return the sum of upsampled coarse scores and the scores of a finer layer, cropped to their common area."""
    return [
        _scores(f"score_{pool}", pool),
        _crop(f"score_{pool}c", f"score_{pool}", upsampled, offset),
        Eltwise(f"fuse_{pool}", [upsampled, f"score_{pool}c"], operation="SUM"),
    ]


def _fcn(name: str, *upsampling: pb.LayerParameter, base_lr: float) -> CatalogueEntry:
    """Return a net whose last layers upsample `score_fr` to `score`, in the image's size."""
    net = CatalogueNet(
        name,
        _images(TRAIN_ONLY, "SBDDSegDataLayer", sbdd_dir="../data/sbdd/dataset", seed=1337, split="train"),
        _images(TEST_ONLY, "VOCSegDataLayer", voc_dir="../data/pascal/VOC2011", seed=1337, split="seg11valid"),
        *vgg_trunk([_LEARNED] * 5, first_pad=100),
        PoolLayer("pool5", ["conv5_3"], pool=Max, kernel=2, stride=2),
        *conv_relu("fc6", "pool5", 4096, kernel=7, pad=0, **_LEARNED),
        Dropout("drop6", ["fc6"], in_place=True, dropout_ratio=0.5),
        *conv_relu("fc7", "fc6", 4096, kernel=1, pad=0, **_LEARNED),
        Dropout("drop7", ["fc7"], in_place=True, dropout_ratio=0.5),
        _scores("score_fr", "fc7"),
        *upsampling,
        SoftmaxWithLoss("loss", ["score", "label"], loss_param={"ignore_label": 255, "normalize": False}),
    )
    return CatalogueEntry(net, _solver(base_lr=base_lr), inputs={"data": (3, 500, 500)}, outputs=["score"])


def _solver(**settings: Any) -> pb.SolverParameter:
    """Return solver settings with small learning rates, since the loss is a sum over pixels. High momentum replaces
    larger batches."""
    return solver_settings(
        **settings,
        lr_policy="fixed",
        momentum=0.99,
        weight_decay=0.0005,
        max_iter=100000,
        display=20,
        average_loss=20,
        test_iter=736,
        test_interval=999999999,
        test_initialization=False,
        snapshot=4000,
    )


def fcn_32s() -> CatalogueEntry:
    """Return the coarsest of the three nets. The others are fine-tuned from it."""
    return _fcn(
        "FCN-32s",
        _upsample("upscore", "score_fr", 32),
        _crop("score", "upscore", "data", 19),
        base_lr=1e-10,
    )


def fcn_16s() -> CatalogueEntry:
    """Return FCN-16s, which adds scores of pool4."""
    return _fcn(
        "FCN-16s",
        _upsample("upscore2", "score_fr", 2),
        *_fuse("pool4", "upscore2", offset=5),
        _upsample("upscore16", "fuse_pool4", 16),
        _crop("score", "upscore16", "data", 27),
        base_lr=1e-12,
    )


def fcn_8s() -> CatalogueEntry:
    """Return FCN-8s, which adds scores of pool4 and pool3."""
    return _fcn(
        "FCN-8s",
        _upsample("upscore2", "score_fr", 2),
        *_fuse("pool4", "upscore2", offset=5),
        _upsample("upscore_pool4", "fuse_pool4", 2),
        *_fuse("pool3", "upscore_pool4", offset=9),
        _upsample("upscore8", "fuse_pool3", 8),
        _crop("score", "upscore8", "data", 31),
        base_lr=1e-14,
    )
