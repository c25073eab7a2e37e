"""MobileNets: convolutions in two steps, a depthwise one in each channel, and a pointwise one that mixes channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    Accuracy,
    Average,
    BatchNorm,
    ConvLayer,
    Eltwise,
    Pooling,
    ReLU,
    Scale,
    SoftmaxWithLoss,
)
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import SCALED, imagenet_data, top_5

_MSRA = pb.FillerParameter(type="msra")
_WEIGHTS, _BIASES = pb.ParamSpec(lr_mult=1, decay_mult=1), pb.ParamSpec(lr_mult=2, decay_mult=0)
_STATISTICS = [pb.ParamSpec(lr_mult=0, decay_mult=0)] * 3
_SCALES = [pb.ParamSpec(lr_mult=1, decay_mult=0)] * 2

# The numbers of the pairs of convolutions, with their filters and strides.
_V1 = [
    ("2_1", 64, 1),
    ("2_2", 128, 2),
    ("3_1", 128, 1),
    ("3_2", 256, 2),
    ("4_1", 256, 1),
    ("4_2", 512, 2),
    *((f"5_{number}", 512, 1) for number in range(1, 6)),
    ("5_6", 1024, 2),
    ("6", 1024, 1),
]

# The numbers of the blocks, with their filters and strides.
_V2 = [
    ("2_1", 16, 1),
    ("2_2", 24, 2),
    ("3_1", 24, 1),
    ("3_2", 32, 2),
    *((f"4_{number}", 32, 1) for number in (1, 2)),
    *((f"4_{number}", 64, 1) for number in (3, 4, 5, 6)),
    ("4_7", 96, 2),
    *((f"5_{number}", 96, 1) for number in (1, 2)),
    ("5_3", 160, 2),
    *((f"6_{number}", 160, 1) for number in (1, 2)),
    ("6_3", 320, 1),
]
_EXPANSION = 6
_IMAGES = 1_281_167  # iterations in an epoch


def _convolution(name: str, bottom: str, filters: int, kernel: int = 1, stride: int = 1) -> pb.LayerParameter:
    return _filters(name, bottom, filters, kernel=kernel, stride=stride)


def _depthwise(name: str, bottom: str, channels: int, stride: int) -> pb.LayerParameter:
    """Return a depthwise convolution: a separate 3x3 filter for each channel."""
    return _filters(name, bottom, channels, kernel=3, stride=stride, group=channels, engine="CAFFE")


def _filters(name: str, bottom: str, filters: int, *, kernel: int, **settings: Any) -> pb.LayerParameter:
    return ConvLayer(
        name,
        [bottom],
        kernel=kernel,
        num_filters=filters,
        pad=kernel // 2,
        bias_term=False,
        weight_filler=_MSRA,
        param=[_WEIGHTS],
        **settings,
    )


def _normalized(convolution: pb.LayerParameter, blob: str, relu: str | None = None) -> Iterator[pb.LayerParameter]:
    """Yield a convolution, a BatchNorm whose top is `blob`, a Scale, and a ReLU if it has a name."""
    name = convolution.name
    yield convolution
    yield BatchNorm(f"{name}/bn", [name], tops=[blob], eps=1e-5, param=_STATISTICS)
    yield Scale(f"{name}/scale", [blob], in_place=True, bias_term=True, param=_SCALES)
    if relu is not None:
        yield ReLU(relu, [blob], in_place=True)


def _classifier(bottom: str) -> Iterator[pb.LayerParameter]:
    yield Pooling("pool6", [bottom], pool=Average, global_pooling=True)
    yield ConvLayer("fc7", ["pool6"], kernel=1, num_filters=1000, weight_filler=_MSRA, param=[_WEIGHTS, _BIASES])


def _v1_layers() -> Iterator[pb.LayerParameter]:
    """Yield the layers of version 1, in which every convolution is normalized in place."""
    yield from _normalized(_convolution("conv1", "data", 32, 3, 2), "conv1", "relu1")
    blob, channels = "conv1", 32
    for number, filters, stride in _V1:
        dw, sep = f"conv{number}/dw", f"conv{number}/sep"
        yield from _normalized(_depthwise(dw, blob, channels, stride), dw, f"relu{number}/dw")
        yield from _normalized(_convolution(sep, dw, filters), sep, f"relu{number}/sep")
        blob, channels = sep, filters
    yield from _classifier(blob)


def _v2_layers() -> Iterator[pb.LayerParameter]:
    """Yield the layers of version 2. Its blocks are wide inside and narrow at their ends, which have no ReLU.
    Normalization isn't in place."""
    yield from _normalized(_convolution("conv1", "data", 32, 3, 2), "conv1/bn", "relu1")
    blob, channels = "conv1/bn", 32
    for number, filters, stride in _V2:
        wide = channels * (_EXPANSION if number != "2_1" else 1)
        yield from _inverted_residual(number, blob, wide, filters, stride)
        linear = f"conv{number}/linear/bn"
        if stride == 1 and filters == channels:
            yield Eltwise(f"block_{number}", [blob, linear])
            linear = f"block_{number}"
        blob, channels = linear, filters
    yield from _normalized(_convolution("conv6_4", blob, 1280), "conv6_4/bn", "relu6_4")
    yield from _classifier("conv6_4/bn")


def _inverted_residual(number: str, bottom: str, wide: int, narrow: int, stride: int) -> Iterator[pb.LayerParameter]:
    expand, dwise, linear = (f"conv{number}/{part}" for part in ("expand", "dwise", "linear"))
    yield from _normalized(_convolution(expand, bottom, wide), f"{expand}/bn", f"relu{number}/expand")
    yield from _normalized(_depthwise(dwise, f"{expand}/bn", wide, stride), f"{dwise}/bn", f"relu{number}/dwise")
    yield from _normalized(_convolution(linear, f"{dwise}/bn", narrow), f"{linear}/bn")


def _entry(name: str, layers: Iterator[pb.LayerParameter], batch: int, **schedule: Any) -> CatalogueEntry:
    """Return a net with RMSProp, as its authors trained it, but without momentum, since Caffe's RMSProp doesn't support
    it."""
    net = CatalogueNet(
        name,
        *imagenet_data(224, train_batch=batch, test_batch=50, mean=SCALED),
        *layers,
        SoftmaxWithLoss("loss", ["fc7", "label"]),
        Accuracy("top1/acc", ["fc7", "label"], include={"phase": "TEST"}),
        top_5("top5/acc", ["fc7", "label"]),
    )
    solver = solver_settings(
        type="RMSProp",
        rms_decay=0.9,
        delta=1.0,
        base_lr=0.045,
        lr_policy="step",
        weight_decay=0.00004,
        display=20,
        test_iter=1000,
        test_interval=10_000,
        test_initialization=False,
        snapshot=10_000,
        **schedule,
    )
    return CatalogueEntry(net, solver)


def mobilenet_v1() -> CatalogueEntry:
    """Return MobileNet v1 in its full width."""
    epoch = _IMAGES // 32
    schedule = {"stepsize": 2 * epoch, "gamma": 0.94, "max_iter": 100 * epoch}
    return _entry("MOBILENET", _v1_layers(), batch=32, **schedule)


def mobilenet_v2() -> CatalogueEntry:
    """Return MobileNet v2 in its full width."""
    schedule = {"stepsize": _IMAGES // 96, "gamma": 0.98, "max_iter": 5_500_000}
    return _entry("MOBILENET_V2", _v2_layers(), batch=96, **schedule)
