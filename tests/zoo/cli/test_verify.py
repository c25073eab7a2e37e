"""`zoo verify`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.training.net import Net
from tests.zoo.cli.conftest import needs_onnx

NET = """name: "small"
layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 5 } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "r" type: "ReLU" bottom: "c" top: "r" }
layer { name: "ip" type: "InnerProduct" bottom: "r" top: "ip"
  inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
"""


@pytest.fixture(autouse=True)
def models(zoo) -> None:
    Path("small.prototxt").write_text(NET)
    net = Net(from_text(NET, pb.NetParameter))
    net.save("a.caffemodel")
    weights = net.get_weights()
    weights["ip"][0][...] += 0.5
    net.set_weights(weights)
    net.save("b.caffemodel")


def test_equal_models_have_no_difference(zoo) -> None:
    zoo("convert", "a.caffemodel", "a.npz")
    code, out, err = zoo("verify", "a.caffemodel", "small.prototxt,a.npz")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "blob c 2x4x4x3 differs by 0.0e+00 of its spread",
        "blob r 2x4x4x3 differs by 0.0e+00 of its spread",
        "output ip 2x7 differs by 0.0e+00 of its spread",
        "the models agree: outputs differ by 0.0e+00 of their spread (1e-05 allowed)",
    ]


def test_the_first_blob_that_differs_is_named(zoo) -> None:
    code, out, err = zoo("verify", "a.caffemodel", "b.caffemodel", "--outputs-only")
    assert (code, err) == (1, "")
    blob, first, verdict = out.splitlines()
    assert blob.startswith("output ip ") and first == "the first blob beyond 1e-05 is 'ip'"
    assert re.fullmatch(r"the models differ: outputs differ by \S+ of their spread \(1e-05 allowed\)", verdict)
    assert zoo("verify", "a.caffemodel", "b.caffemodel", "--tolerance", "1000").code == 0
    found = json.loads(zoo("verify", "a.caffemodel", "b.caffemodel", "--json").out)
    assert (found["same"], [each["difference"] == 0 for each in found["blobs"]]) == (False, [True, True, False])


@pytest.mark.parametrize(("a", "tolerance"), [("a.caffemodel", "0.123456789"), ("b.caffemodel", "1e-05")])
def test_the_verdict_is_the_last_line_and_fits_on_a_terminal(zoo, a: str, tolerance: str) -> None:
    out = zoo("verify", a, "b.caffemodel", "--tolerance", tolerance).out
    assert out.splitlines()[-1].startswith("the models ") and len(out.splitlines()[-1]) <= 80


@needs_onnx
def test_models_of_two_formats_are_compared_blob_by_blob(zoo) -> None:
    zoo("convert", "a.caffemodel", "a.onnx")
    for pair in (("a.caffemodel", "a.onnx"), ("a.onnx", "a.caffemodel")):
        code, out, err = zoo("verify", *pair, "--json")
        assert (code, err) == (0, "")
        blobs = json.loads(out)["blobs"]
        assert [(each["blob"], each["output"]) for each in blobs] == [("c", False), ("r", False), ("ip", True)]
        assert all(each["difference"] < 1e-5 for each in blobs)  # rounding of torch and onnxruntime
    assert zoo("verify", "b.caffemodel", "a.onnx").code == 1


def test_blobs_in_only_one_model_are_reported(zoo) -> None:
    Path("other.prototxt").write_text(NET.replace('top: "r"', 'top: "q"').replace('bottom: "r"', 'bottom: "q"'))
    out = zoo("verify", "small.prototxt,a.caffemodel", "other.prototxt,a.caffemodel").out
    assert out.splitlines()[-3:-1] == [
        "only in small.prototxt,a.caffemodel: r",
        "only in other.prototxt,a.caffemodel: q",
    ]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        pytest.param("gone.onnx", "gone.onnx: can't be opened: No such file", marks=needs_onnx),
        pytest.param("text.onnx", "text.onnx: not a readable ONNX model", marks=needs_onnx),
        ("a.pt2", "a.pt2: a .pt2 file can contain pickled code, so it is never loaded"),
        ("a.npz", "a.npz: the file contains weights but no net; name its net too, as in deploy.prototxt,a.npz"),
        (",", "no file is named"),
        ("small.prototxt", "small.prototxt: net 'small' has no weights here; name their files"),
        ("noise.prototxt", "noise.prototxt: a .prototxt file must be prototxt, but this one is binary"),
        ("cut.caffemodel", "cut.caffemodel: layer 'ip': byte "),
        ("small.prototxt,cut.caffemodel", "cut.caffemodel: layer 'ip': byte "),
        ("unknown.prototxt,a.caffemodel", "unknown.prototxt:5: unknown layer type 'Mystery' (layers r)"),
        (
            "wide.prototxt,a.caffemodel",
            "wide.prototxt: layer 'c': blob 0 has shape [4, 5, 3, 3], but the weights have [4, 3, 3, 3]",
        ),
        ("two.prototxt,a.caffemodel", "one model has the inputs data, more, the other has data"),
        ("ends.prototxt,a.caffemodel", "one model has the outputs ip, end, the other has ip"),
    ],
)
def test_models_that_cannot_be_compared_are_reported(zoo, other: str, what: str) -> None:
    Path("text.onnx").write_text("no model")
    Path("noise.prototxt").write_bytes(bytes(range(256)))
    Path("cut.caffemodel").write_bytes(Path("a.caffemodel").read_bytes()[:-30])
    Path("unknown.prototxt").write_text(NET.replace('"ReLU"', '"Mystery"'))
    Path("wide.prototxt").write_text(NET.replace("dim: 3", "dim: 5"))
    more = 'layer { name: "m" type: "Input" top: "more" input_param { shape { dim: 2 dim: 4 dim: 4 dim: 3 } } }'
    add = 'layer { name: "e" type: "Eltwise" bottom: "r" bottom: "more" top: "e" }'
    two = NET.replace('bottom: "r"', 'bottom: "e"').replace('layer { name: "ip"', more + add + 'layer { name: "ip"')
    Path("two.prototxt").write_text(two)
    Path("ends.prototxt").write_text(NET + 'layer { name: "end" type: "TanH" bottom: "r" top: "end" }')
    done = zoo("verify", other, "a.caffemodel")
    assert (done.code, done.out) == (2, "")
    assert what in done.err
