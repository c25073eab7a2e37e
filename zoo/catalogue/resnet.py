"""ResNets for ImageNet: blocks that learn a change to add to their input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    Accuracy,
    Average,
    BatchNorm,
    ConvLayer,
    Eltwise,
    LinearLayer,
    Max,
    PoolLayer,
    ReLU,
    Scale,
    SoftmaxWithLoss,
)
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import MEAN_COLOR, imagenet_data, top_5

_WIDTHS = {2: 64, 3: 128, 4: 256, 5: 512}  # numbers of the stages in the paper

Convolution = tuple[int, int, int]  # filters, kernel and stride


def _two_wide(width: int, stride: int) -> list[Convolution]:
    return [(width, 3, stride), (width, 3, 1)]


def _bottleneck(width: int, stride: int) -> list[Convolution]:
    return [(width, 1, stride), (width, 3, 1), (4 * width, 1, 1)]


def _normalized(
    blob: str, bottom: str, convolution: Convolution, suffix: str, *, bias: bool = False
) -> list[pb.LayerParameter]:
    """Return a convolution, BatchNorm and Scale. The names of BatchNorm and Scale end in the suffix."""
    filters, kernel, stride = convolution
    return [
        ConvLayer(
            blob,
            [bottom],
            kernel=kernel,
            num_filters=filters,
            stride=stride,
            pad=kernel // 2,
            bias_term=bias,
            weight_filler=pb.FillerParameter(type="msra"),
        ),
        BatchNorm(f"bn{suffix}", [blob], in_place=True, moving_average_fraction=0.9),
        Scale(f"scale{suffix}", [blob], in_place=True, bias_term=True),
    ]


def _relu(blob: str) -> pb.LayerParameter:
    return ReLU(f"{blob}_relu", [blob], in_place=True)


def _block(
    name: str, bottom: str, convolutions: Sequence[Convolution], *, projects: bool
) -> Iterator[pb.LayerParameter]:
    """Yield a block: convolutions whose output is added to the bottom. If it `projects`, the bottom is first projected
    to the output's shape."""
    shortcut, blob = bottom, bottom
    if projects:
        shortcut = f"res{name}_branch1"
        projection = (convolutions[-1][0], 1, convolutions[0][2])
        yield from _normalized(shortcut, bottom, projection, f"{name}_branch1")
    for letter, convolution in zip("abc", convolutions, strict=False):
        if letter != "a":
            yield _relu(blob)
        below, blob = blob, f"res{name}_branch2{letter}"
        yield from _normalized(blob, below, convolution, f"{name}_branch2{letter}")
    yield from (Eltwise(f"res{name}", [shortcut, blob]), _relu(f"res{name}"))


def _layers(
    convolutions: Callable[[int, int], list[Convolution]], depths: Sequence[int], *, numbered: bool, first_bias: bool
) -> Iterator[pb.LayerParameter]:
    """Yield the layers from the images to the scores, with the given number of blocks in each stage."""
    yield from _normalized("conv1", "data", (64, 7, 2), "_conv1", bias=first_bias)
    yield from (_relu("conv1"), PoolLayer("pool1", ["conv1"], pool=Max, kernel=3, stride=2))
    blob = "pool1"
    for (stage, width), depth in zip(_WIDTHS.items(), depths, strict=True):
        for block in _block_names(depth, numbered):
            stride = 2 if block == "a" and stage > 2 else 1
            yield from _block(f"{stage}{block}", blob, convolutions(width, stride), projects=block == "a")
            blob = f"res{stage}{block}"
    yield PoolLayer("pool5", [blob], pool=Average, kernel=7, stride=1)
    yield LinearLayer(
        "fc1000",
        ["pool5"],
        num_outputs=1000,
        weight_filler=pb.FillerParameter(type="xavier"),
        param=[pb.ParamSpec(lr_mult=1, decay_mult=1), pb.ParamSpec(lr_mult=2, decay_mult=1)],
    )


def _block_names(depth: int, numbered: bool) -> Sequence[str]:
    """Return the names of a stage's blocks: a, b, c, ..., or a, b1, b2, ... in long stages of nets that number them."""
    if numbered and depth > 3:
        return ["a", *(f"b{number}" for number in range(1, depth))]
    return ascii_lowercase[:depth]


def _net(
    name: str,
    convolutions: Callable[[int, int], list[Convolution]],
    depths: Sequence[int],
    *,
    batch: int = 32,
    numbered: bool = False,
    first_bias: bool = False,
) -> CatalogueNet:
    return CatalogueNet(
        name,
        *imagenet_data(224, train_batch=batch, test_batch=50, mean=MEAN_COLOR),
        *_layers(convolutions, depths, numbered=numbered, first_bias=first_bias),
        SoftmaxWithLoss("loss", ["fc1000", "label"]),
        Accuracy("acc/top-1", ["fc1000", "label"], include={"phase": "TEST"}),
        top_5("acc/top-5", ["fc1000", "label"]),
    )


def _as_in_the_paper(net: CatalogueNet) -> CatalogueEntry:
    """Return a net with its solver. A batch has 256 images, which are normalized 32 at a time, as on the authors' eight
    GPUs."""
    solver = solver_settings(
        type="SGD",
        base_lr=0.1,
        lr_policy="multistep",
        stepvalue=[150_000, 300_000],
        gamma=0.1,
        momentum=0.9,
        weight_decay=0.0001,
        iter_size=8,
        max_iter=600_000,
        display=20,
        test_iter=1000,
        test_interval=5000,
        test_initialization=False,
        snapshot=5000,
    )
    return CatalogueEntry(net, solver)


def resnet_18() -> CatalogueEntry:
    """Return a ResNet with 18 layers."""
    solver = solver_settings(
        type="SGD",
        base_lr=0.05,
        lr_policy="poly",
        power=1,
        momentum=0.9,
        weight_decay=0.0005,
        max_iter=650_000,
        display=20,
        test_iter=1000,
        test_interval=5000,
        test_initialization=False,
        snapshot=5000,
        random_seed=0,
    )
    return CatalogueEntry(_net("ResNet-18", _two_wide, (2, 2, 2, 2), batch=128), solver)


def resnet_34() -> CatalogueEntry:
    """Return a ResNet with 34 layers."""
    return _as_in_the_paper(_net("ResNet-34", _two_wide, (3, 4, 6, 3)))


def resnet_50() -> CatalogueEntry:
    """Return a ResNet with 50 layers."""
    return _as_in_the_paper(_net("ResNet-50", _bottleneck, (3, 4, 6, 3), first_bias=True))


def resnet_101() -> CatalogueEntry:
    """Return a ResNet with 101 layers."""
    return _as_in_the_paper(_net("ResNet-101", _bottleneck, (3, 4, 23, 3), numbered=True))


def resnet_152() -> CatalogueEntry:
    """Return a ResNet with 152 layers."""
    return _as_in_the_paper(_net("ResNet-152", _bottleneck, (3, 8, 36, 3), numbered=True))
