"""`zoo convert`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net
from netdsl.training.net import Net
from tests.zoo.cli.conftest import needs_onnx

NET = """name: "small"
layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 5 } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
"""


@pytest.fixture(autouse=True)
def small(zoo) -> None:
    Path("small.prototxt").write_text(NET)
    Net(from_text(NET, pb.NetParameter)).save("small.caffemodel")


@pytest.mark.skipif(not find_spec("safetensors") or not find_spec("h5py"), reason="needs the extras")
def test_weights_survive_conversion_through_all_formats(zoo) -> None:
    names = ["small.caffemodel", "a.safetensors", "b.npz", "c.pt", "d.h5", "e.caffemodel"]
    for source, output in pairwise(names):
        assert zoo("convert", source, output) == (0, f"wrote {output}\n", "")
    one, other = Net("small.prototxt", weights=names[0]), Net("small.prototxt", weights=names[-1])
    assert one.get_weights() == other.get_weights()


def test_the_same_format_keeps_every_byte(zoo) -> None:
    zoo("convert", "small.caffemodel", "same.caffemodel")
    assert Path("same.caffemodel").read_bytes() == Path("small.caffemodel").read_bytes()


def test_torchs_names_require_the_net_and_are_listed(zoo) -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(48, 7))
    torch.save(module.state_dict(), "t.pt")
    refused = zoo("convert", "t.pt", "t.caffemodel")
    assert refused.code == 2
    assert "names such as '0.weight' don't have the form LAYER.INDEX; name the net that they belong to" in refused.err
    code, out, _ = zoo("convert", "t.pt", "t.caffemodel", "--net", "small.prototxt", "--json")
    assert code == 0
    assert json.loads(out) == {
        "files": ["t.caffemodel"],
        "proofs": [],
        "names": [{"source": "0", "layer": "c", "by": "order"}, {"source": "2", "layer": "ip", "by": "order"}],
        "data": {"data": {"shape": [3, 6, 5], "known": "stated"}},
        "assumed": {},
    }
    assert [layer.type for layer in read_net("t.caffemodel").message.layer] == ["Input", "Convolution", "InnerProduct"]
    x = torch.randn(1, 3, 6, 5)
    net = Net("small.prototxt", weights="t.caffemodel")
    torch.testing.assert_close(net.forward(data=x)["ip"], module(x).detach())  # in single precision


@needs_onnx
def test_a_net_with_its_weights_becomes_onnx(zoo) -> None:
    assert zoo("convert", "small.caffemodel", "a.onnx").out.splitlines()[-1] == "wrote a.onnx"
    zoo("convert", "small.caffemodel", "w.npz")
    assert zoo("convert", "w.npz", "b.onnx", "--net", "small.prototxt").code == 0
    assert zoo("convert", "small.prototxt", "c.onnx", "--weights", "w.npz").code == 0
    for other in ("b.onnx", "c.onnx"):
        assert zoo("verify", "a.onnx", other).code == 0


@needs_onnx
def test_an_onnx_model_becomes_an_equal_net_with_weights(zoo) -> None:
    zoo("convert", "small.caffemodel", "a.onnx")
    assert zoo("convert", "a.onnx", "out/b.prototxt") == (0, "wrote out/b.prototxt\nwrote out/b.caffemodel\n", "")
    assert zoo("verify", "small.caffemodel", "out/b.prototxt,out/b.caffemodel").code == 0
    assert zoo("verify", "a.onnx", "out/b.caffemodel").code == 0


@needs_onnx
def test_an_open_shape_of_an_onnx_model_can_be_stated(zoo) -> None:
    from onnx import helper

    value, other = (helper.make_tensor_value_info(name, 1, ["N", 3, "H", "W"]) for name in ("images", "y"))
    graph = helper.make_graph([helper.make_node("Relu", ["images"], ["y"])], "open", [value], [other])
    Path("open.onnx").write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    for words in (["convert", "open.onnx", "b.prototxt"], ["check", "open.onnx"]):
        done = zoo(*words)
        assert done.code and "--assume images=3x224x224" in done.err + done.out
    done = zoo("convert", "open.onnx", "b.prototxt", "--assume", "images=3x6x5")
    assert done.code == 0, done.err
    assert list(read_net("b.prototxt").message.layer[0].input_param.shape[0].dim) == [1, 3, 6, 5]
    for words in (["check"], ["time", "--iterations", "1"]):
        done = zoo(*words, "open.onnx", "--assume", "images=3x6x5")
        assert done.code == 0 and "no data layer" not in done.err, done.err
    assert "doesn't have the input 'image'" in zoo("check", "open.onnx", "--assume", "image=3x6x5").out


@pytest.mark.slow
def test_a_net_with_its_weights_becomes_a_torch_program(zoo) -> None:
    assert zoo("convert", "small.caffemodel", "a.pt2").out.splitlines() == [
        "as torch: outputs differ by 0.0e+00 of their spread (1e-05 allowed)",
        "wrote a.pt2",
    ]
    program = torch.export.load("a.pt2").module()
    x = torch.randn(5, 3, 6, 5)
    torch.testing.assert_close(program(x)["ip"], Net("small.caffemodel").forward(data=x)["ip"])


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ["small.prototxt", "a.prototxt"],
            "small.prototxt can't be converted to a.prototxt: weights become .caffemodel",
        ),
        (["gone.npz", "a.caffemodel"], "gone.npz: can't be opened"),
        (["small.caffemodel", "a.npz", "--precision", "bfloat16"], "numpy doesn't have bfloat16"),
        (["small.caffemodel", "gone/a.npz"], "gone/a.npz: can't be written: No such file"),
        (["small.caffemodel", "a.npz", "--net", "gone.prototxt"], "gone.prototxt: can't be opened"),
        (["w.npz", "a.onnx"], "w.npz: the file contains weights but no net; name the net with --net"),
        (["a.pt2", "a.onnx"], "a.pt2 can't be converted to a.onnx"),
        (["small.caffemodel", "a.h5", "--precision", "float16"], "--precision needs an output in .safetensors, .npz"),
    ],
)
def test_failures_are_reported_and_no_file_is_written(zoo, words: list[str], what: str) -> None:
    zoo("convert", "small.caffemodel", "w.npz")
    before = sorted(Path().iterdir())
    done = zoo("convert", *words)
    assert (done.code, done.out) == (2, "")
    assert what in done.err
    assert sorted(Path().iterdir()) == before


WRITTEN = [
    "a.caffemodel",
    "a.npz",
    "a.pt",
    pytest.param("a.safetensors", marks=pytest.mark.skipif(not find_spec("safetensors"), reason="needs the extra")),
    pytest.param("a.onnx", marks=needs_onnx),
    pytest.param("a.pt2", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("output", WRITTEN)
def test_a_full_disk_and_an_invalid_folder_leave_existing_files(zoo, output: str, full_disk) -> None:
    Path(output).write_text("as before")
    before = {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")}
    with full_disk(600):
        done = zoo("convert", "small.caffemodel", output)
    assert done == (
        2,
        "",
        f"zoo: {output}: can't be written: File too large; choose a folder that you can write to, or free space "
        "there\n",
    )
    below = f"small.prototxt/{output}"
    done = zoo("convert", "small.caffemodel", below)
    assert done == (
        2,
        "",
        f"zoo: {below}: can't be written: Not a directory; choose a folder that you can write to, or free space "
        "there\n",
    )
    assert {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")} == before


@needs_onnx
def test_a_net_and_its_weights_are_written_together_or_not_at_all(zoo, full_disk) -> None:
    zoo("convert", "small.caffemodel", "a.onnx")
    before = sorted(Path().iterdir())
    with full_disk(1000):  # enough for the net
        assert zoo("convert", "a.onnx", "out/b.prototxt").err == (
            "zoo: out/b.caffemodel: can't be written: File too large; choose a folder that you can write to, or "
            "free space there\n"
        )
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("bad.caffemodel", "bad.caffemodel: byte 10: "),
        ("bad.npz", "bad.npz: not a readable .npz file: File is not a zip file"),
        ("bad.pt", "bad.pt: not a readable .pt file: it contains more than named tensors"),
        pytest.param("bad.onnx", "bad.onnx: not a readable ONNX model: ", marks=needs_onnx),
        ("cut.caffemodel", "cut.caffemodel: layer 'ip': byte "),
    ],
)
def test_a_file_that_is_not_a_model_is_reported_in_one_line(zoo, source: str, what: str) -> None:
    Path(source).write_bytes(b"\xff" * 300)
    Path("cut.caffemodel").write_bytes(Path("small.caffemodel").read_bytes()[:-30])
    before = sorted(Path().iterdir())
    done = zoo("convert", source, "made.caffemodel")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"zoo: {what}")
    assert sorted(Path().iterdir()) == before
