"""ShuffleNet: convolutions in groups of channels, which are shuffled to exchange information between groups."""

from __future__ import annotations

from collections.abc import Iterator

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    Accuracy,
    Average,
    BatchNorm,
    Concat,
    ConvLayer,
    ConvolutionDepthwise,
    Eltwise,
    Max,
    Pooling,
    PoolLayer,
    ReLU,
    Scale,
    ShuffleChannel,
    SoftmaxWithLoss,
)
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import SCALED, imagenet_data, top_5

_MSRA = pb.FillerParameter(type="msra")
_STATISTICS = [pb.ParamSpec(lr_mult=0, decay_mult=0)] * 3
_STAGES = [(240, 4), (480, 8), (960, 4)]  # channels and numbers of units
_GROUPS = 3


def _normalized(convolution: pb.LayerParameter) -> list[pb.LayerParameter]:
    name = convolution.name
    return [
        convolution,
        BatchNorm(f"{name}_bn", [name], in_place=True, param=_STATISTICS),
        Scale(f"{name}_scale", [name], in_place=True, bias_term=True),
    ]


def _relu(blob: str) -> pb.LayerParameter:
    return ReLU(f"{blob}_relu", [blob], in_place=True)


def _pointwise(name: str, bottom: str, filters: int, groups: int) -> pb.LayerParameter:
    return ConvLayer(name, [bottom], kernel=1, num_filters=filters, group=groups, bias_term=False, weight_filler=_MSRA)


def _depthwise(name: str, bottom: str, channels: int, stride: int) -> pb.LayerParameter:
    return ConvolutionDepthwise(
        name,
        [bottom],
        num_output=channels,
        kernel_size=3,
        stride=stride,
        pad=1,
        bias_term=False,
        weight_filler=_MSRA,
    )


def _branch(number: int, bottom: str, filters: int, stride: int) -> Iterator[pb.LayerParameter]:
    """Yield the convolutions of a unit: pointwise, shuffle, depthwise, pointwise. The first unit's input has too few
    channels for groups."""
    conv1, conv2, conv3 = (f"resx{number}_conv{place}" for place in (1, 2, 3))
    groups = 1 if number == 1 else _GROUPS
    yield from _normalized(_pointwise(conv1, bottom, filters // 4, groups))
    yield _relu(conv1)
    blob = conv1
    if groups > 1:
        blob = f"shuffle{number}"
        yield ShuffleChannel(blob, [conv1], group=groups)
    yield from _normalized(_depthwise(conv2, blob, filters // 4, stride))
    yield from _normalized(_pointwise(conv3, conv2, filters, _GROUPS))


def _narrowing_unit(number: int, bottom: str, channels: int, filters: int) -> Iterator[pb.LayerParameter]:
    """Yield a unit that halves the sides. The branch's channels are concatenated with the average-pooled bottom."""
    match, top = f"resx{number}_match_conv", f"resx{number}_concat"
    yield PoolLayer(match, [bottom], pool=Average, kernel=3, stride=2)
    yield from _branch(number, bottom, filters - channels, stride=2)
    yield from (Concat(top, [match, f"resx{number}_conv3"]), _relu(top))


def _unit(number: int, bottom: str, filters: int) -> Iterator[pb.LayerParameter]:
    top = f"resx{number}_elewise"
    yield from _branch(number, bottom, filters, stride=1)
    yield from (Eltwise(top, [bottom, f"resx{number}_conv3"]), _relu(top))


def _layers() -> Iterator[pb.LayerParameter]:
    """Yield the layers from the images to the scores."""
    yield from _normalized(
        ConvLayer("conv1", ["data"], kernel=3, num_filters=24, stride=2, pad=1, bias_term=False, weight_filler=_MSRA)
    )
    yield from (_relu("conv1"), PoolLayer("pool1", ["conv1"], pool=Max, kernel=3, stride=2))
    blob, channels, number = "pool1", 24, 0
    for filters, units in _STAGES:
        for unit in range(units):
            number += 1
            if unit == 0:
                yield from _narrowing_unit(number, blob, channels, filters)
                blob = f"resx{number}_concat"
            else:
                yield from _unit(number, blob, filters)
                blob = f"resx{number}_elewise"
        channels = filters
    yield Pooling("pool_ave", [blob], pool=Average, global_pooling=True)
    yield ConvLayer(
        "fc1000",
        ["pool_ave"],
        kernel=1,
        num_filters=1000,
        weight_filler=_MSRA,
        param=[pb.ParamSpec(lr_mult=1, decay_mult=1), pb.ParamSpec(lr_mult=2, decay_mult=0)],
    )


def shufflenet() -> CatalogueEntry:
    """Return ShuffleNet in its full width, with three groups."""
    net = CatalogueNet(
        "shufflenet",
        *imagenet_data(224, train_batch=256, test_batch=50, mean=SCALED),
        *_layers(),
        SoftmaxWithLoss("loss", ["fc1000", "label"]),
        Accuracy("top1/acc", ["fc1000", "label"], include={"phase": "TEST"}),
        top_5("top5/acc", ["fc1000", "label"]),
    )
    solver = solver_settings(
        type="SGD",
        base_lr=0.5,
        lr_policy="poly",
        power=1,
        momentum=0.9,
        weight_decay=0.00004,
        iter_size=4,
        max_iter=300_000,
        display=20,
        test_iter=1000,
        test_interval=5000,
        test_initialization=False,
        snapshot=5000,
    )
    return CatalogueEntry(net, solver)
