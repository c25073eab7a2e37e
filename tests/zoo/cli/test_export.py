"""`zoo export`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net, read_solver
from netdsl.net import Net

needs_onnx = pytest.mark.skipif(not find_spec("onnx") or not find_spec("onnxruntime"), reason="needs the extra onnx")
NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { crop_size: 8 }
  data_param { source: "x" batch_size: 3 } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "s" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture(autouse=True)
def small(zoo) -> None:
    Path("small.prototxt").write_text(NET)
    net = Net(from_text(NET, pb.NetParameter))
    next(layer for layer in net.module.built.layers if layer.layer.name == "bn").variance.fill_(3)
    net.save("small.caffemodel")


def test_a_trained_net_is_exported_to_caffe_with_its_proof(zoo) -> None:
    Path("solver.prototxt").write_text('net: "old.prototxt" base_lr: 0.1')
    words = ["--to", "caffe", "-o", "out", "--solver", "solver.prototxt"]
    code, out, err = zoo("export", "small.prototxt", "--weights", "small.caffemodel", *words)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "input data 1x3x8x8",
        "as caffe: outputs differ by 0.0e+00 of their spread",
        "wrote out/deploy.caffemodel",
        "wrote out/deploy.prototxt",
        "wrote out/solver.prototxt",
        "wrote out/train_val.prototxt",
    ]
    assert Path("out/deploy.caffemodel").read_bytes() == Path("small.caffemodel").read_bytes()
    assert [layer.type for layer in read_net("out/deploy.prototxt").message.layer][-1] == "Softmax"
    assert read_solver("out/solver.prototxt").message.net == "train_val.prototxt"


@needs_onnx
def test_a_net_is_exported_to_onnx_and_is_the_same(zoo) -> None:
    words = ["--weights", "small.caffemodel", "--to", "onnx", "--assume", "data=3x9x7", "--json"]
    code, out, err = zoo("export", "small.prototxt", *words)
    assert "ip" in err and code == 2  # another image doesn't fit the weights
    words[-2] = "data=3x8x8"
    code, out, err = zoo("export", "small.prototxt", *words)
    found = json.loads(out)
    assert (code, found["files"], found["inputs"]) == (0, ["small.onnx"], {"data": [1, 3, 8, 8]})
    assert found["proofs"][0]["difference"] < 1e-5  # what onnxruntime and torch round differently
    assert zoo("verify", "small.prototxt,small.caffemodel", "small.onnx").code == 0


def test_rewrites_are_done_and_proved_one_by_one(zoo) -> None:
    words = [
        "--prune-to",
        "ip",
        "--fold",
        "--rgb",
        "--mean",
        "1,2,3",
        "--fully-convolutional",
        "--precision",
        "float16",
    ]
    code, out, err = zoo("export", "small.prototxt", "--weights", "small.caffemodel", "--to", "caffe", *words)
    assert (code, err) == (0, "")
    lines = [line.split(":")[0] for line in out.splitlines()]
    assert lines[1:7] == [
        "the net ends at layer 'ip'",
        "normalisations and scales folded",
        "images",
        "fully connected layers as convolutions",
        "weights rounded to float16",
        "as caffe",
    ]
    net = read_net("small_caffe/deploy.prototxt").message
    assert [(layer.name, layer.type) for layer in net.layer] == [
        ("data", "Input"),
        ("c", "Convolution"),
        ("ip", "Convolution"),
    ]


def test_the_proof_can_be_left_out(zoo) -> None:
    words = ["--weights", "small.caffemodel", "--to", "caffe", "--no-verify", "--fold"]
    assert zoo("export", "small.prototxt", *words).out.splitlines()[1:3] == [
        "normalisations and scales folded: not verified",
        "as caffe: not verified",
    ]


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["--to", "caffe", "-o", "."], 2, ".: has 'small.prototxt', which is exported; name another folder"),
        (["--to", "onnx"], 2, "small.prototxt: net 'small' has no weights here; name the files that have them"),
        (["--to", "onnx", "--weights", "gone.npz"], 2, "gone.npz: can't be opened"),
        (
            ["--to", "onnx", "--weights", "less.npz"],
            2,
            "small.prototxt: the weights have nothing for layer 'bn', 's', 'ip'",
        ),
        (["--to", "caffe", "--fold"], 2, "small.prototxt: net 'small' can't be rewritten without its weights"),
        (["--to", "caffe", "--weights", "small.caffemodel", "--prune-to", "x"], 2, "there is no layer 'x'"),
        (["--to", "caffe", "--mean", "red"], 2, "'red' isn't like 104,117,123"),
        (["--to", "onnx", "--train-val"], 2, "--train-val and --solver are for --to caffe"),
        (["--to", "caffe", "--opset", "3"], 2, "--opset is for --to onnx"),
    ],
)
def test_what_goes_wrong_is_told_and_nothing_is_written(zoo, words: list[str], code: int, what: str) -> None:
    np.savez("less.npz", **{"c.0": np.zeros((4, 3, 3, 3)), "c.1": np.zeros(4)})
    before = sorted(Path().iterdir())
    done = zoo("export", "small.prototxt", *words)
    assert (done.code, done.out) == (code, "")
    assert what in done.err
    assert sorted(Path().iterdir()) == before
