"""Made-up nets whose steps are timed: between them they have layers of all usual kinds and sizes, and no net's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl import (
    LRN,
    Average,
    BatchNorm,
    Concat,
    ConvLayer,
    Dropout,
    Eltwise,
    LinearLayer,
    Max,
    NetParams,
    PoolLayer,
    RDDLayer,
    ReLU,
    Scale,
    SoftmaxWithLoss,
)

_FILLER = pb.FillerParameter(type="msra")


def sample_nets() -> Iterator[NetParams]:
    """The nets, each at some batches."""
    for make, batches in _BATCHES.items():
        for batch in batches:
            yield make(batch)


def tiny_net() -> NetParams:
    """A net whose operations take hardly any time."""
    return _small(2)


class _Chain:
    """A net that is written layer after layer; `blob` is the last one's top."""

    def __init__(self, batch: int, channels: int, size: int) -> None:
        self.layers = [RDDLayer("data", shape=[batch, channels, size, size]), RDDLayer("label", shape=[batch])]
        self.blob = "data"

    def add(self, layer: pb.LayerParameter) -> None:
        self.layers.append(layer)
        self.blob = layer.top[0]

    def name(self) -> str:
        return f"layer{len(self.layers)}"

    def convolve(self, filters: int, kernel: int, *, stride: int = 1, group: int = 1, pad: int | None = None) -> None:
        pad = kernel // 2 if pad is None else pad
        self.add(
            ConvLayer(
                self.name(),
                [self.blob],
                kernel=kernel,
                num_filters=filters,
                stride=stride,
                pad=pad,
                group=group,
                weight_filler=_FILLER,
            )
        )

    def rectify(self) -> None:
        self.add(ReLU(self.name(), [self.blob], in_place=True))

    def normalise(self) -> None:
        self.add(BatchNorm(self.name(), [self.blob], in_place=True))
        self.add(Scale(self.name(), [self.blob], in_place=True, bias_term=True))

    def respond(self) -> None:
        self.add(LRN(self.name(), [self.blob], local_size=5, alpha=1e-4, beta=0.75))

    def pool(self, kernel: int, stride: int, *, pad: int = 0) -> None:
        self.add(PoolLayer(self.name(), [self.blob], pool=Max, kernel=kernel, stride=stride, pad=pad))

    def connect(self, outputs: int) -> None:
        self.add(LinearLayer(self.name(), [self.blob], num_outputs=outputs, weight_filler=_FILLER))

    def connect_with_dropout(self, *widths: int) -> None:
        for outputs in widths:
            self.connect(outputs)
            self.rectify()
            self.add(Dropout(self.name(), [self.blob], in_place=True))

    def finish(self, classes: int) -> NetParams:
        self.connect(classes)
        self.add(SoftmaxWithLoss("loss", [self.blob, "label"]))
        return NetParams("sample", *self.layers)


def _plain(batch: int) -> NetParams:
    """3x3 convolutions whose filters double where the size halves."""
    net = _Chain(batch, 3, 176)
    for filters in (48, 96, 192, 384, 640):
        for _ in range(2):
            net.convolve(filters, 3)
            net.rectify()
        net.pool(2, 2)
    net.connect_with_dropout(2000, 1500)
    return net.finish(300)


def _grouped(batch: int) -> NetParams:
    """Large windows first, and groups later."""
    net = _Chain(batch, 3, 199)
    for filters, kernel, stride, group in ((80, 11, 4, 1), (224, 5, 1, 2)):
        net.convolve(filters, kernel, stride=stride, group=group, pad=0 if stride > 1 else None)
        net.rectify()
        net.respond()
        net.pool(3, 2)
    for filters, group in ((320, 1), (320, 2), (224, 2)):
        net.convolve(filters, 3, group=group)
        net.rectify()
    net.pool(3, 2)
    net.connect_with_dropout(3000, 2500)
    return net.finish(800)


def _residual(batch: int) -> NetParams:
    """Bottlenecks whose tops are added to their bottoms."""
    net = _Chain(batch, 3, 192)
    net.convolve(48, 7, stride=2)
    net.normalise()
    net.rectify()
    net.pool(3, 2)
    for width, stride in ((48, 1), (96, 2), (192, 2), (384, 2)):
        for first in (True, False):
            bottom = shortcut = net.blob
            if first:
                net.convolve(4 * width, 1, stride=stride)
                net.normalise()
                shortcut = net.blob
            net.blob = bottom
            for filters, kernel in ((width, 1), (width, 3), (4 * width, 1)):
                net.convolve(filters, kernel, stride=stride if first and filters == width and kernel == 1 else 1)
                net.normalise()
                if filters == width:
                    net.rectify()
            net.add(Eltwise(net.name(), [shortcut, net.blob]))
            net.rectify()
    net.add(PoolLayer(net.name(), [net.blob], pool=Average, kernel=6, stride=1))
    return net.finish(700)


def _branched(batch: int) -> NetParams:
    """Convolutions of different windows side by side."""
    net = _Chain(batch, 3, 192)
    net.convolve(48, 7, stride=2)
    net.rectify()
    net.pool(3, 2)
    net.respond()
    net.convolve(48, 1)
    net.rectify()
    net.convolve(160, 3)
    net.rectify()
    net.respond()
    for width in (1, 2):
        net.pool(3, 2)
        for _ in range(2):
            _branches(net, width)
    net.add(PoolLayer(net.name(), [net.blob], pool=Average, kernel=6, stride=1, pad=0))
    return net.finish(700)


def _branches(net: _Chain, width: int) -> None:
    bottom, tops = net.blob, []
    for reduction, filters, kernel in ((0, 56, 1), (72, 112, 3), (12, 24, 5), (-1, 40, 1)):
        net.blob = bottom
        if reduction > 0:
            net.convolve(reduction * width, 1)
            net.rectify()
        elif reduction < 0:
            net.pool(3, 1, pad=1)
        net.convolve(filters * width, kernel)
        net.rectify()
        tops.append(net.blob)
    net.add(Concat(net.name(), tops))


def _separable(batch: int) -> NetParams:
    """A group for every channel, and then 1x1 convolutions."""
    net = _Chain(batch, 3, 160)
    net.convolve(24, 3, stride=2)
    for filters, stride in ((56, 1), (112, 2), (240, 2), (480, 2)):
        net.normalise()
        net.rectify()
        net.convolve(_channels(net), 3, stride=stride, group=_channels(net))
        net.normalise()
        net.rectify()
        net.convolve(filters, 1)
    net.add(PoolLayer(net.name(), [net.blob], pool=Average, kernel=10, stride=1))
    return net.finish(200)


def _channels(net: _Chain) -> int:
    """Those of the last blob, which the last convolution made."""
    return next(
        layer.convolution_param.num_output for layer in reversed(net.layers) if layer.convolution_param.num_output
    )


def _small(batch: int) -> NetParams:
    """A few filters, which fill no vector, on small images."""
    net = _Chain(batch, 1, 32)
    for filters in (18, 44):
        net.convolve(filters, 5, pad=0)
        net.pool(2, 2)
    net.connect(400)
    net.rectify()
    return net.finish(12)


_BATCHES: dict[Callable[[int], NetParams], tuple[int, ...]] = {
    _small: (48, 192),
    _separable: (6,),
    _grouped: (5, 14),
    _branched: (5, 14),
    _residual: (5, 14),
    _plain: (3, 10),
}
