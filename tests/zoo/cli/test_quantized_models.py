"""Nets that train here lose at most a point of their score when they are quantized."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, Concat, ConvLayer, Max, NetParams, Pooling, PoolLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import Average, Data
from tests.zoo.cli.conftest import Zoo, needs_onnx

pytestmark = [pytest.mark.slow, needs_onnx]

POINT = 0.01
MSRA = {"type": "msra"}
SOLVER = """net: "%s" base_lr: %g type: "Adam" momentum: 0.9 momentum2: 0.999 lr_policy: "poly" power: 1 max_iter: %d
display: 100 random_seed: 1 """


def scores_of(zoo: Zoo, net: str, weights: str, *words: str) -> tuple[dict[str, float], dict[str, float]]:
    """Quantize a net with its own test data. Returns its scores before and after."""
    done = zoo("export", net, "--weights", weights, "--to", "onnx", "--int8", "-o", "int8.onnx")
    assert done.code == 0, done.err
    scores = []
    for more in ([], ["--with", "int8.onnx"]):
        found = json.loads(zoo("test", net, "--weights", weights, *words, *more, "--json").out)
        of_set = {name: value for table in found["scores"] for name, value in table["scores"].items()}
        scores.append(found["outputs"] | of_set)
    return scores[0], scores[1]


def test_lenet(zoo: Zoo) -> None:
    assert zoo("train", "lenet", "--max-iter", "100").code == 0
    before, after = scores_of(zoo, "lenet", "lenet_iter_100.caffemodel")
    assert after["accuracy"] >= before["accuracy"] - POINT > 0.9


def fire(name: str, bottom: str, squeezed: int, expanded: int) -> list[pb.LayerParameter]:
    squeeze, one, three = (f"{name}/{part}" for part in ("squeeze", "one", "three"))
    return [*conv(squeeze, bottom, squeezed, 1), *conv(one, squeeze, expanded, 1),
            *conv(three, squeeze, expanded, 3, pad=1), Concat(name, [one, three])]  # fmt: skip


def conv(name: str, bottom: str, filters: int, kernel: int, **sizes: int) -> list[pb.LayerParameter]:
    return [
        ConvLayer(name, [bottom], kernel=kernel, num_filters=filters, weight_filler=MSRA, **sizes),
        ReLU(f"{name}_relu", [name], in_place=True),
    ]


def digits(phase: str) -> pb.LayerParameter:
    size = {"resize_mode": "WARP", "height": 28, "width": 28}
    return Data(
        "data",
        tops=["data", "label"],
        include={"phase": phase},
        source=f"digits:{phase.lower()}",
        batch_size=71,
        shuffle=phase == "TRAIN",
        transform_param={"scale": 1 / 64, "force_gray": True, "resize_param": size},
    )


def test_fire_modules_as_in_squeezenet(zoo: Zoo) -> None:
    net = NetParams(
        "small_squeezenet",
        digits("TRAIN"),
        digits("TEST"),
        *conv("conv1", "data", 16, 3, pad=1),
        PoolLayer("pool1", ["conv1"], pool=Max, kernel=2, stride=2),
        *fire("fire2", "pool1", 8, 16),
        PoolLayer("pool2", ["fire2"], pool=Max, kernel=2, stride=2),
        *fire("fire3", "pool2", 16, 32),
        ConvLayer("conv4", ["fire3"], kernel=1, num_filters=10, weight_filler=MSRA),
        Pooling("pool4", ["conv4"], pool=Average, global_pooling=True),
        Accuracy("accuracy", ["pool4", "label"], include={"phase": "TEST"}),
        SoftmaxWithLoss("loss", ["pool4", "label"]),
    )
    Path("net.prototxt").write_text(net.prototxt())
    Path("solver.prototxt").write_text(SOLVER % ("net.prototxt", 0.005, 800) + 'snapshot_prefix: "squeezed"')
    assert zoo("train", "--solver", "solver.prototxt").code == 0
    before, after = scores_of(zoo, "net.prototxt", "squeezed_iter_800.caffemodel", "--iterations", "5")
    assert after["accuracy"] >= before["accuracy"] - POINT > 0.9


def test_ssd(zoo: Zoo) -> None:
    assert zoo("import", "ssd-shapes", "-o", ".").code == 0
    assert zoo("data", "convert", "objects:train?count=400", "train_lmdb").code == 0
    assert zoo("data", "convert", "objects:test?count=100", "test_lmdb").code == 0
    Path("train_val.prototxt").write_text(Path("train_val.prototxt").read_text().replace("size: 32", "size: 16"))
    Path("solver.prototxt").write_text(SOLVER % ("train_val.prototxt", 0.002, 150) + 'snapshot_prefix: "ssd"')
    assert zoo("train", "--solver", "solver.prototxt").code == 0
    before, after = scores_of(zoo, "train_val.prototxt", "ssd_iter_150.caffemodel", "--iterations", "5")
    assert after["mAP VOC 2007"] >= before["mAP VOC 2007"] - POINT > 0.5
