"""Caffe's two nets for MNIST that don't classify digits: an autoencoder, and twins that learn similarity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from caffe_proto import caffe_pb2 as pb
from netdsl import (
    ContrastiveLoss,
    ConvLayer,
    EuclideanLoss,
    Flatten,
    LinearLayer,
    PoolLayer,
    RDDLayer,
    ReLU,
    Sigmoid,
    SigmoidCrossEntropyLoss,
    Slice,
)
from netdsl.dsl import Data
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import NetStateRuleDict

_CODES = (1000, 500, 250, 30)  # the number of outputs of each encoder layer


def mnist_autoencoder() -> CatalogueEntry:
    """Return an autoencoder that compresses an image to 30 numbers and reconstructs it from them."""
    net = CatalogueNet(
        "MNISTAutoencoder",
        _digits("train", {"phase": "TRAIN"}),
        _digits("train", {"phase": "TEST", "stage": "test-on-train"}),
        # The default test data, so that the net can be opened without a stage.
        _digits("test", {"phase": "TEST", "not_stage": "test-on-train"}),
        Flatten("flatdata", ["data"]),
        *_encoder(),
        *_decoder(),
        SigmoidCrossEntropyLoss("loss", ["decode1", "flatdata"], tops=["cross_entropy_loss"], loss_weight=1),
        Sigmoid("decode1neuron", ["decode1"]),
        EuclideanLoss("loss", ["decode1neuron", "flatdata"], tops=["l2_error"], loss_weight=0),
    )
    solver = solver_settings(
        base_lr=0.01,
        lr_policy="step",
        gamma=0.1,
        stepsize=10_000,
        momentum=0.9,
        weight_decay=0.0005,
        max_iter=65_000,
        display=100,
        test_state=[{"stage": "test-on-train"}, {"stage": "test-on-test"}],
        test_iter=[500, 100],
        test_interval=500,
        test_compute_loss=True,
        snapshot=10_000,
    )
    return CatalogueEntry(net, solver)


def _digits(part: str, rule: NetStateRuleDict) -> pb.LayerParameter:
    return Data(
        "data",
        include=rule,
        transform_param={"scale": 0.0039215684},
        source=f"examples/mnist/mnist_{part}_lmdb",
        batch_size=100,
        backend="LMDB",
        input_param={"shape": {"dim": [100, 1, 28, 28]}},
    )


def _encoder() -> Iterator[pb.LayerParameter]:
    bottom = "data"
    for number, size in enumerate(_CODES, 1):
        yield _linear(f"encode{number}", bottom, size)
        if number < len(_CODES):  # the code itself is linear
            yield Sigmoid(f"encode{number}neuron", [f"encode{number}"])
            bottom = f"encode{number}neuron"


def _decoder() -> Iterator[pb.LayerParameter]:
    bottom = f"encode{len(_CODES)}"
    for number, size in reversed(list(enumerate((28 * 28, *_CODES[:-1]), 1))):
        yield _linear(f"decode{number}", bottom, size)
        if number > 1:
            yield Sigmoid(f"decode{number}neuron", [f"decode{number}"])
            bottom = f"decode{number}neuron"


def _linear(name: str, bottom: str, outputs: int) -> pb.LayerParameter:
    return LinearLayer(
        name,
        [bottom],
        num_outputs=outputs,
        param=[{"lr_mult": 1, "decay_mult": 1}, {"lr_mult": 1, "decay_mult": 0}],
        weight_filler={"type": "gaussian", "std": 1, "sparse": 15},
        bias_filler={"type": "constant", "value": 0},
    )


def mnist_siamese() -> CatalogueEntry:
    """Return two LeNets with shared weights, which map images of the same digit to nearby points. The deployed net is
    one of them."""
    net = CatalogueNet(
        "mnist_siamese_train_test",
        _pairs("train", phase="TRAIN", batch=64),
        _pairs("test", phase="TEST", batch=100),
        Slice("slice_pair", ["pair_data"], tops=["data", "data_p"], slice_dim=1, slice_point=1),
        *_twin(""),
        *_twin("_p"),
        ContrastiveLoss("loss", ["feat", "feat_p", "sim"], margin=1),
    )
    solver = solver_settings(
        base_lr=0.01,
        lr_policy="inv",
        gamma=0.0001,
        power=0.75,
        momentum=0.9,
        weight_decay=0,
        max_iter=50_000,
        display=100,
        test_iter=100,
        test_interval=500,
        snapshot=5000,
    )
    return CatalogueEntry(
        net, solver, used=CatalogueNet("mnist_siamese", RDDLayer("data", shape=[1, 1, 28, 28]), *_twin(""))
    )


def _pairs(part: str, *, phase: Literal["TRAIN", "TEST"], batch: int) -> pb.LayerParameter:
    """Return a data layer for two images in two channels, and a label that shows whether they contain the same
    digit."""
    return Data(
        "pair_data",
        tops=["pair_data", "sim"],
        include={"phase": phase},
        transform_param={"scale": 0.00390625},
        source=f"examples/siamese/mnist_siamese_{part}_leveldb",
        batch_size=batch,
        input_param={"shape": {"dim": [batch, 2, 28, 28]}},
    )


def _twin(suffix: str) -> list[pb.LayerParameter]:
    """Return one of the twins: LeNet with the coordinates of a point instead of digit scores."""
    names = ("conv1", "pool1", "conv2", "pool2", "ip1", "relu1", "ip2", "feat")
    conv1, pool1, conv2, pool2, ip1, relu1, ip2, feat = (name + suffix for name in names)
    return [
        ConvLayer(conv1, [f"data{suffix}"], kernel=5, num_filters=20, stride=1, **_shared("conv1")),
        PoolLayer(pool1, [conv1], kernel=2, stride=2),
        ConvLayer(conv2, [pool1], kernel=5, num_filters=50, stride=1, **_shared("conv2")),
        PoolLayer(pool2, [conv2], kernel=2, stride=2),
        LinearLayer(ip1, [pool2], num_outputs=500, **_shared("ip1")),
        ReLU(relu1, [ip1], in_place=True),
        LinearLayer(ip2, [ip1], num_outputs=10, **_shared("ip2")),
        LinearLayer(feat, [ip2], num_outputs=2, **_shared("feat")),
    ]


def _shared(name: str) -> dict[str, Any]:
    """Return layer settings that name the weights and biases, so that the twins share them."""
    return {
        "param": [{"name": f"{name}_w", "lr_mult": 1}, {"name": f"{name}_b", "lr_mult": 2}],
        "weight_filler": {"type": "xavier"},
        "bias_filler": {"type": "constant"},
    }
