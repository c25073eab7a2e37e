"""The VGG nets: deep nets of 3x3 convolutions and 2x2 pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, ConvLayer, Dropout, LinearLayer, PoolLayer, ReLU, SoftmaxWithLoss
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings
from zoo.catalogue.imagenet import RATES, imagenet_data, top_5

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import TransformationParameterDict

_FILTERS = (64, 128, 256, 512, 512)  # channels of the convolutions in each of the five stages
_MEAN: TransformationParameterDict = {"mean_value": [103.939, 116.779, 123.68]}
_FILLERS: dict[str, Any] = {"weight_filler": {"type": "xavier"}, "bias_filler": {"type": "constant", "value": 0}}


def vgg_a() -> CatalogueEntry:
    """Return configuration A of the paper, with 11 layers."""
    return _entry("VGG_ILSVRC_11_layers", (1, 1, 2, 2, 2))


def vgg_16() -> CatalogueEntry:
    """Return configuration D of the paper, with 16 layers."""
    return _entry("VGG_ILSVRC_16_layers", (2, 2, 3, 3, 3))


def vgg_19() -> CatalogueEntry:
    """Return configuration E of the paper, with 19 layers."""
    return _entry("VGG_ILSVRC_19_layers", (2, 2, 4, 4, 4))


def _entry(name: str, convolutions: tuple[int, ...]) -> CatalogueEntry:
    """Return a net with this number of convolutions in each stage. The paper's batches of 256 are computed in four
    parts."""
    net = CatalogueNet(
        name,
        *imagenet_data(224, train_batch=64, test_batch=50, mean=_MEAN),
        *_stages(convolutions),
        *_hidden(6, "pool5"),
        *_hidden(7, "fc6"),
        LinearLayer("fc8", ["fc7"], num_outputs=1000, param=RATES, **_FILLERS),
        Accuracy("accuracy", ["fc8", "label"], include={"phase": "TEST"}),
        top_5("accuracy_top5", ["fc8", "label"]),
        SoftmaxWithLoss("loss", ["fc8", "label"]),
    )
    solver = solver_settings(
        base_lr=0.01,
        lr_policy="step",
        gamma=0.1,
        stepsize=100_000,
        momentum=0.9,
        weight_decay=0.0005,
        iter_size=4,
        max_iter=370_000,
        display=20,
        test_iter=1000,
        test_interval=5000,
        test_initialization=False,
        snapshot=10_000,
    )
    return CatalogueEntry(net, solver)


def _stages(convolutions: tuple[int, ...]) -> Iterator[pb.LayerParameter]:
    bottom = "data"
    for stage, (count, filters) in enumerate(zip(convolutions, _FILTERS, strict=True), 1):
        for number in range(1, count + 1):
            name = f"conv{stage}_{number}"
            yield ConvLayer(name, [bottom], num_filters=filters, kernel=3, pad=1, param=RATES, **_FILLERS)
            yield ReLU(f"relu{stage}_{number}", [name], in_place=True)
            bottom = name
        yield PoolLayer(f"pool{stage}", [bottom], kernel=2, stride=2)
        bottom = f"pool{stage}"


def _hidden(number: int, bottom: str) -> list[pb.LayerParameter]:
    name = f"fc{number}"
    return [
        LinearLayer(name, [bottom], num_outputs=4096, param=RATES, **_FILLERS),
        ReLU(f"relu{number}", [name], in_place=True),
        Dropout(f"drop{number}", [name], in_place=True, dropout_ratio=0.5),
    ]
