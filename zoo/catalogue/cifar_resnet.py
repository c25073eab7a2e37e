"""ResNets for CIFAR-10: the same three groups of blocks, with different depths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    Accuracy,
    Average,
    BatchNorm,
    ConvLayer,
    Eltwise,
    LinearLayer,
    Pooling,
    ReLU,
    Scale,
    Softmax,
    SoftmaxWithLoss,
)
from netdsl.dsl import Data
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings

_MSRA = pb.FillerParameter(type="msra")
_WEIGHTS, _BIASES = pb.ParamSpec(lr_mult=1, decay_mult=1), pb.ParamSpec(lr_mult=2, decay_mult=0)
_STATISTICS = [pb.ParamSpec(lr_mult=0, decay_mult=0)] * 3

_Settings = Mapping[str, Any]


@dataclass(frozen=True)
class _Recipe:
    """The settings in which the published nets differ, for each kind of layer."""

    first: _Settings  # of the first convolution
    convolution: _Settings = field(default_factory=dict)  # of all other convolutions
    norm: _Settings = field(default_factory=dict)
    scale: _Settings = field(default_factory=dict)
    image: _Settings = field(default_factory=dict)

    def normalized(
        self, blob: str, bottom: str, filters: int, kernel: int, stride: int, **settings: Any
    ) -> list[pb.LayerParameter]:
        """Return a convolution with BatchNorm and Scale."""
        conv = ConvLayer(
            blob,
            [bottom],
            kernel=kernel,
            num_filters=filters,
            stride=stride,
            pad=kernel // 2,
            weight_filler=_MSRA,
            **settings,
        )
        norm = BatchNorm(f"{blob}_bn", [blob], in_place=True, param=_STATISTICS, **self.norm)
        return [conv, norm, Scale(f"{blob}_scale", [blob], in_place=True, bias_term=True, **self.scale)]

    def block(self, name: str, bottom: str, filters: int, *, narrows: bool) -> Iterator[pb.LayerParameter]:
        """Yield a block: two convolutions, to which the bottom is added. In a block that `narrows` the sides, the
        bottom is first projected to the new shape."""
        conv0, conv1, shortcut, stride = f"{name}_conv0", f"{name}_conv1", f"{name}_proj", 2 if narrows else 1
        yield from self.normalized(conv0, bottom, filters, 3, stride, **self.convolution)
        yield _relu(conv0, conv0)
        yield from self.normalized(conv1, conv0, filters, 3, 1, **self.convolution)
        if narrows:
            yield from self.normalized(shortcut, bottom, filters, 1, stride, **self.convolution)
        yield Eltwise(f"{name}_sum", [shortcut, conv1] if narrows else [conv1, bottom])
        yield _relu(name, f"{name}_sum")

    def layers(self, blocks: int) -> Iterator[pb.LayerParameter]:
        """Yield the layers from the images to the scores, with this number of blocks in each of the three groups."""
        yield from self.normalized("first_conv", "data", 16, 3, 1, **self.first)
        yield _relu("first_conv", "first_conv")
        blob = "first_conv"
        for group, filters in enumerate((16, 32, 64)):
            for block in range(blocks):
                name = f"group{group}_block{block}"
                yield from self.block(name, blob, filters, narrows=group > 0 and block == 0)
                blob = f"{name}_sum"
        yield Pooling("global_avg_pool", [blob], pool=Average, global_pooling=True)
        yield LinearLayer("fc", ["global_avg_pool"], num_outputs=10, weight_filler=_MSRA, param=[_WEIGHTS, _BIASES])


_FIRST_RECIPE = _Recipe(
    first={"param": [_WEIGHTS]},
    convolution={"param": [_WEIGHTS]},
    image={"scale": 1 / 128},
)
_SECOND_RECIPE = _Recipe(
    first={"param": [_WEIGHTS, _BIASES]},
    convolution={"param": [_WEIGHTS], "bias_term": False},
    norm={"moving_average_fraction": 0.9},
    scale={"param": [_WEIGHTS, _BIASES]},
)


def _relu(name: str, blob: str) -> pb.LayerParameter:
    return ReLU(f"{name}_relu", [blob], in_place=True)


def _images(phase: Literal["TRAIN", "TEST"], batch: int, **transform: Any) -> pb.LayerParameter:
    return Data(
        "data",
        tops=["data", "label"],
        include={"phase": phase},
        transform_param=pb.TransformationParameter(mean_value=[128], **transform),
        source=f"cifar-10-batches-py/{phase.lower()}",
        batch_size=batch,
        backend="LMDB",
    )


def _entry(depth: int, recipe: _Recipe, solver_type: str) -> CatalogueEntry:
    """Return a net of the given depth: two layers in each block, plus the first and the last layer."""
    blocks = (depth - 2) // 6
    net = CatalogueNet(
        f"resnet{blocks}-cifar10",
        _images("TRAIN", 128, mirror=True, crop_size=32, **recipe.image),
        _images("TEST", 100, **recipe.image),
        *recipe.layers(blocks),
        SoftmaxWithLoss("loss", ["fc", "label"]),
        Softmax("softmax", ["fc"]),
        Accuracy("Accuracy", ["softmax", "label"]),
    )
    solver = solver_settings(
        type=solver_type,
        base_lr=0.1,
        lr_policy="multistep",
        stepvalue=[32_000, 48_000],
        gamma=0.1,
        momentum=0.9,
        weight_decay=0.0001,
        max_iter=64_000,
        display=100,
        test_iter=100,
        test_interval=1000,
        snapshot=10_000,
    )
    return CatalogueEntry(net, solver, inputs={"data": (3, 32, 32)})


def cifar_resnet_20() -> CatalogueEntry:
    """Return a ResNet with 20 layers."""
    return _entry(20, _FIRST_RECIPE, "Nesterov")


def cifar_resnet_56() -> CatalogueEntry:
    """Return a ResNet with 56 layers."""
    return _entry(56, _SECOND_RECIPE, "SGD")


def cifar_resnet_110() -> CatalogueEntry:
    """Return a ResNet with 110 layers."""
    return _entry(110, _FIRST_RECIPE, "Nesterov")
