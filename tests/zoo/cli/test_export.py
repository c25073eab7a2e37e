"""`zoo export`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net, read_solver
from converters.onnx import export_onnx
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from netdsl.training.net import Net
from tests.memory_storage import Put, stored
from tests.zoo.cli.conftest import needs_onnx

NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { crop_size: 8 }
  data_param { source: "x" batch_size: 3 } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "s" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.002 } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
CURVE = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 64 dim: 64 } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "curve" type: "TanH" bottom: "c" top: "curve" }
"""  # two programs round some of its values differently


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
        "as caffe: outputs differ by 0.0e+00 of their spread (1e-05 allowed)",
        "wrote out/deploy.caffemodel",
        "wrote out/deploy.prototxt",
        "wrote out/solver.prototxt",
        "wrote out/train_val.prototxt",
    ]
    assert Path("out/deploy.caffemodel").read_bytes() == Path("small.caffemodel").read_bytes()
    assert [layer.type for layer in read_net("out/deploy.prototxt").message.layer][-1] == "Softmax"
    assert read_solver("out/solver.prototxt").message.net == "train_val.prototxt"


def test_training_data_that_caffe_cannot_read_are_reported_or_converted(zoo, lenet: Path, monkeypatch) -> None:
    Net(lenet / "train_val.prototxt").save("lenet.caffemodel")
    words = ["export", "lenet", "--weights", "lenet.caffemodel", "--to", "caffe"]
    words += ["--solver", str(lenet / "solver.prototxt"), "--no-verify"]
    code, out, err = zoo(*words, "-o", "said")
    assert (code, err) == (0, "")
    unread = (
        "layer 'data': Caffe can't read source 'digits:%s', resize_param%s; export it with --data-lmdb, which writes"
    )
    said = [line for line in out.splitlines() if "Caffe" in line]
    assert len(said) == 2 and unread % ("train", ", shuffle") in said[0] and unread % ("test", "") in said[1]
    code, out, err = zoo(*words, "-o", "written", "--data-lmdb")
    assert (code, err) == (0, "") and "Caffe" not in out
    assert {"wrote written/train_lmdb", "wrote written/test_lmdb"} <= set(out.splitlines())
    monkeypatch.chdir("written")
    assert zoo("train", "--solver", "solver.prototxt", "--max-iter", "1")[0] == 0
    monkeypatch.chdir("..")
    assert (
        "_lmdb: this is a directory, but a file with this name must be written"
        in zoo(*words, "-o", "written", "--data-lmdb")[2]
    )


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_constant_outputs_do_not_count_as_a_proof(zoo, value: float) -> None:
    net = Net("small.prototxt")
    for blob in net.module.parameters():
        blob.data.fill_(value)
    net.save("blank.caffemodel")
    words = ["export", "small.prototxt", "--weights", "blank.caffemodel", "--to", "caffe"]
    code, out, err = zoo(*words)
    assert (code, err) == (0, "")
    assert (
        "output 'prob' is constant or not a number on random inputs, so the comparison proves nothing about it"
        in out.splitlines()
    )
    assert json.loads(zoo(*words, "--json").out)["unproved"] == ["prob"]


@needs_onnx
def test_the_decoder_of_a_card_is_exported_and_proved(zoo) -> None:
    Path("small.card.md").write_text(
        "---\nname: small\ninput: {size: [8, 8]}\noutput: {decoder: embedding, normalize: true}\n---\n"
    )
    words = ["export", "small.prototxt", "--weights", "small.caffemodel", "--to", "onnx", "--decode"]
    done = zoo(*words, "-o", "decoded.onnx")
    assert (done.code, done.err) == (0, "")
    shown = done.out.splitlines()
    assert shown[1].startswith("as onnx: outputs differ by ")
    assert shown[2].startswith("decoder 'embedding': outputs differ by ")
    assert zoo(*words, "--no-verify").out.splitlines()[2] == "decoder 'embedding': not verified"
    quantized = zoo(*words, "--int8", "--calibrate", "shapes:test", "--calibrate-items", "9", "-o", "small.onnx")
    assert quantized.code == 0 and "of their spread on 9 items" in quantized.out
    Path("small.card.md").write_text("---\nname: small\noutput: {decoder: mtcnn}\n---\n")
    cascade = zoo(*words).err
    assert "a cascade cuts images between its nets, so it can't be one ONNX model; leave --decode out" in cascade


@needs_onnx
def test_a_net_exported_to_onnx_computes_the_same(zoo) -> None:
    words = ["--weights", "small.caffemodel", "--to", "onnx", "--assume", "data=3x9x7", "--json"]
    code, out, err = zoo("export", "small.prototxt", *words)
    assert "ip" in err and code == 2  # another image size doesn't fit the weights
    words[-2] = "data=3x8x8"
    code, out, err = zoo("export", "small.prototxt", *words)
    found = json.loads(out)
    assert (code, found["files"], found["inputs"]) == (0, ["small.onnx"], {"data": [1, 3, 8, 8]})
    assert found["proofs"][0]["difference"] < 1e-5  # rounding of onnxruntime and torch
    assert zoo("verify", "small.prototxt,small.caffemodel", "small.onnx").code == 0


def test_rewrites_are_applied_and_proved_one_by_one(zoo) -> None:
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
        "normalizations and scales folded",
        "images",
        "fully connected layers as convolutions",
        "weights rounded to float16, kept as float32",
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
        "normalizations and scales folded: not verified",
        "as caffe: not verified",
    ]


@pytest.mark.slow
def test_a_torch_program_is_proved_too(zoo) -> None:
    done = zoo("export", "small.prototxt", "--weights", "small.caffemodel", "--to", "torch", "--json")
    found = json.loads(done.out)
    assert found["files"] == ["small.pt2"]
    (proof,) = found["proofs"]
    assert (proof["what"], proof["tolerance"]) == ("as torch", 1e-5)
    assert proof["difference"] < 1e-9  # nearly all operators are torch's own


@pytest.mark.parametrize(("precision", "tolerance"), [("float16", 1e-2), ("bfloat16", 1e-1)])
def test_rounded_weights_have_their_own_tolerance(zoo, precision: str, tolerance: float) -> None:
    words = ["export", "small.prototxt", "--weights", "small.caffemodel", "--to", "caffe", "--prune-to", "ip"]
    words += ["--precision", precision]
    proof = json.loads(zoo(*words, "--json").out)["proofs"][1]
    assert proof["what"] == f"weights rounded to {precision}, kept as float32"
    assert 0 < proof["difference"] < proof["tolerance"] == tolerance
    code, out, err = zoo(*words, "--tolerance", "1e-7", "-o", "out")
    assert (code, out) == (2, "")
    assert "of their spread, more than 1e-07, so the model wasn't rewritten" in err
    assert not Path("out").exists()


@needs_onnx
def test_the_tolerance_applies_to_the_written_model_too(zoo) -> None:
    words = ["export", "small.prototxt", "--weights", "small.caffemodel", "--to", "onnx", "--mean", "1,2,3"]
    proofs = json.loads(zoo(*words, "--tolerance", "0.5", "--json").out)["proofs"]
    assert [each["tolerance"] for each in proofs] == [0.5, 0.5]
    Path("curve.prototxt").write_text(CURVE)
    Net("curve.prototxt").save("curve.caffemodel")
    words = ["export", "curve.prototxt", "--weights", "curve.caffemodel", "--to", "onnx"]
    done = zoo(*words, "--tolerance", "0", "-o", "exact.onnx")
    assert done.code == 2
    assert "exact.onnx: the model wasn't written because blob 'curve' differs by" in done.err
    assert not Path("exact.onnx").exists()


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (
            ["--to", "caffe", "-o", "."],
            2,
            ".: the folder contains 'small.prototxt', which is being exported; name another folder",
        ),
        (["--to", "onnx"], 2, "small.prototxt: net 'small' has no weights here; name their files"),
        (["--to", "onnx", "--weights", "gone.npz"], 2, "gone.npz: can't be opened"),
        (
            ["--to", "onnx", "--weights", "less.npz"],
            2,
            "small.prototxt: the weights don't contain layer 'bn', 's', 'ip'",
        ),
        (["--to", "caffe", "--fold"], 2, "small.prototxt: net 'small' can't be rewritten without its weights"),
        (["--to", "caffe", "--weights", "small.caffemodel", "--prune-to", "x"], 2, "there is no layer 'x'"),
        (["--to", "caffe", "--mean", "red"], 2, "'red' isn't a list of channel means"),
        (["--to", "onnx", "--train-val"], 2, "--train-val and --solver need --to caffe"),
        (["--to", "caffe", "--data-lmdb"], 2, "--data-lmdb needs --train-val or --solver"),
        (["--to", "caffe", "--decode"], 2, "--decode needs --to onnx; add it, or leave --decode out"),
        (
            ["--to", "onnx", "--decode", "--weights", "small.caffemodel"],
            2,
            "small.prototxt: no decoder is known for the net's outputs; name one in the field `output` of a card",
        ),
        (["--to", "caffe", "--opset", "3"], 2, "--opset needs --to onnx"),
        (["--to", "caffe", "--int8"], 2, "--int8 needs --to onnx; add it, or leave --int8 out"),
        (["--to", "onnx", "--calibrate", "x"], 2, "--calibrate needs --int8; add it, or leave --calibrate out"),
        (["--to", "onnx", "--calibrate-items", "5"], 2, "--calibrate-items needs --int8; add it, or leave"),
        (["--to", "onnx", "--int8", "--opset", "12"], 2, "--int8 needs --opset 13 or a newer one"),
        (["--to", "caffe", "--dynamic", "data=1,3,H,W"], 2, "--dynamic needs --to onnx"),
        (["--to", "onnx", "--dynamic", "data=1,3,H,W", "--decode"], 2, "--decode reads images of one size"),
        (["--to", "onnx", "--dynamic", "data=1,3,-1,W"], 2, "'data=1,3,-1,W' isn't a blob and its axes"),
        (
            ["--to", "onnx", "--dynamic", "data=1,3,H,W", "--weights", "small.caffemodel"],
            2,
            "can't be free as 'H', because its length is fixed by layer 'ip' of type InnerProduct",
        ),
        (["--to", "caffe", "--no-verify", "--tolerance", "1"], 2, "--tolerance has no effect with --no-verify"),
    ],
)
def test_failures_are_reported_and_no_file_is_written(zoo, words: list[str], code: int, what: str) -> None:
    np.savez("less.npz", **{"c.0": np.zeros((4, 3, 3, 3)), "c.1": np.zeros(4)})
    before = sorted(Path().iterdir())
    done = zoo("export", "small.prototxt", *words)
    assert (done.code, done.out) == (code, "")
    assert what in done.err
    assert sorted(Path().iterdir()) == before


@needs_onnx
def test_the_sizes_of_a_model_with_free_axes_are_printed(zoo) -> None:
    free = ["--prune-to", "s", "--dynamic", "data=N,3,H,W", "-o", "free.onnx"]
    words = ["export", "small.prototxt", "--weights", "small.caffemodel", "--to", "onnx", *free]
    code, out, err = zoo(*words)
    assert (code, err) == (0, "")
    proved = [line for line in out.splitlines() if line.startswith("proved with data ")]
    assert len(proved) == 3 and proved[0] == "proved with data 1x3x8x8"
    sizes = json.loads(zoo(*words, "--json").out)["sizes"]
    assert proved == [f"proved with data {'x'.join(map(str, each['data']))}" for each in sizes]


@needs_onnx
def test_lengths_that_a_net_takes_in_steps_are_noted(zoo) -> None:
    Path("steps.prototxt").write_text(
        CURVE.replace('top: "curve"', 'top: "t"').replace('name: "curve"', 'name: "t"')
        + """layer { name: "p" type: "Pooling" bottom: "t" top: "p" pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: "u" type: "Upsample" bottom: "p" top: "u" upsample_param { scale: 2 } }
        layer { name: "e" type: "Eltwise" bottom: "t" bottom: "u" top: "e" }"""
    )
    Net("steps.prototxt", phase="TEST").save("steps.caffemodel")
    done = zoo(
        "export", "steps.prototxt", "--weights", "steps.caffemodel", "--to", "onnx", "--dynamic", "data=1,3,64,W"
    )
    assert done.code == 0 and done.out.splitlines()[-1] == "W must be 64, or differ from it by a multiple of 2"


TARGETS = [
    "caffe",
    pytest.param("onnx", marks=needs_onnx),
    pytest.param("torch", marks=pytest.mark.slow),
]
BAD = {
    "noise.prototxt": (bytes(range(256)), "noise.prototxt: a .prototxt file must be prototxt, but this one is binary"),
    "words.prototxt": (b"hello world", "words.prototxt:1:7: expected ':' or '{' after 'hello', found 'world'"),
    "wide.prototxt": (
        NET.replace("num_output: 4", "num_output: 6").encode(),
        "wide.prototxt: layer 'c': blob 0 has shape [6, 3, 3, 3], but the weights have [4, 3, 3, 3]",
    ),
    "unknown.prototxt": (
        NET.replace('"BatchNorm"', '"Mystery"').encode(),
        "unknown.prototxt:6: unknown layer type 'Mystery' (layers bn)",
    ),
    "python.prototxt": (
        NET.replace('"BatchNorm"', '"Python" python_param { module: "m" layer: "L" }').encode(),
        "python.prototxt:6: layer 'bn': the layer runs Python code from module 'm'",
    ),
}


def refused(zoo, *words: str) -> str:
    """Return the error of an export that writes nothing: one line."""
    before = {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")}
    done = zoo("export", *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")} == before
    return done.err.removeprefix("zoo: ")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BAD)
def test_an_invalid_net_is_reported_in_one_line(zoo, name: str, target: str) -> None:
    Path(name).write_bytes(BAD[name][0])
    assert refused(zoo, name, "--weights", "small.caffemodel", "--to", target).startswith(BAD[name][1])


@pytest.mark.parametrize("target", TARGETS)
def test_truncated_weights_are_reported_in_one_line(zoo, target: str) -> None:
    whole = Path("small.caffemodel").read_bytes()
    for size, where in ((len(whole) // 2, "layer 'ip'"), (len(whole) - 3, "layer 'loss'")):
        Path("cut.caffemodel").write_bytes(whole[:size])
        for words in (["small.prototxt", "--weights", "cut.caffemodel"], ["cut.caffemodel"]):
            told = refused(zoo, *words, "--to", target)
            assert told.startswith(f"cut.caffemodel: {where}: ") and "the file is cut short or damaged" in told


@pytest.mark.parametrize("target", TARGETS)
def test_an_unwritable_folder_stays_empty(zoo, target: str, full_disk) -> None:
    Path("file").write_text("in the way")
    words = ["small.prototxt", "--weights", "small.caffemodel", "--to", target]
    assert (
        refused(zoo, *words, "-o", "file/below")
        == "file/below: can't be written: Not a directory; choose a folder that you can write to, or free space there\n"
    )
    with full_disk(1000):  # enough for a description, but not for weights
        assert (
            ": can't be written: File too large; choose a folder that you can write to, or free space there\n"
            in refused(zoo, *words, "-o", "out")
        )


@pytest.mark.parametrize("target", TARGETS)
def test_an_interruption_leaves_existing_files(zoo, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["small.prototxt", "--weights", "small.caffemodel", "--to", target, "-o", "out"]
    assert zoo("export", *words, "--batch", "2").code == 0
    before = {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)  # the last step of writing a file
    assert zoo("export", *words).code == 130
    assert {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")} == before


@needs_onnx
def test_layers_that_onnx_cannot_express_are_reported_in_one_line(zoo) -> None:
    inputs = [
        f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ dim: {shape} }} }} }}'
        for name, shape in {"data": [1, 6], "label": [1]}.items()
    ]
    margins = [
        f'layer {{ name: "{name}" type: "MarginInnerProduct" bottom: "data" bottom: "label" top: "{name}"'
        " margin_inner_product_param { num_output: 3 } }"
        for name in ("one", "two")
    ]
    Path("margins.prototxt").write_text("\n".join(inputs + margins))
    Net("margins.prototxt").save("margins.caffemodel")
    told = refused(zoo, "margins.prototxt", "--weights", "margins.caffemodel", "--to", "onnx")
    parts = [f"layer '{name}' of type MarginInnerProduct has no ONNX form" for name in ("one", "two")]
    advice = "replace these layers, or export the net to torch"
    assert told == f"margins.prototxt: {'; '.join([*parts, advice])}\n"


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["--to", "caffe", "-o", "out"], "out/labels.txt"),
        (["--to", "torch", "-o", "a.pt2"], "a_labels.txt"),
        pytest.param(["--to", "onnx", "-o", "a.onnx"], "a_labels.txt", marks=needs_onnx),
    ],
)
def test_class_names_are_exported_too(zoo, words: list[str], file: str) -> None:
    Path("small_labels.txt").write_text("a\nb\nc\nd\ne\n")
    done = zoo("export", "small.prototxt", "--weights", "small.caffemodel", *words)
    assert done.code == 0 and f"wrote {file}\n" in done.out
    assert Path(file).read_text() == "a\nb\nc\nd\ne\n"
    done = zoo("export", "small.prototxt", "--weights", "small.caffemodel", *words[:3], "pruned", "--prune-to", "s")
    assert done.code == 0 and "labels.txt" not in done.out
    if "onnx" in words:
        import onnx

        properties = {each.key: each.value for each in onnx.load("a.onnx").metadata_props}
        assert properties["labels"] == "a\nb\nc\nd\ne"


def test_class_names_in_a_models_folder_are_exported_too(zoo) -> None:
    Path("small_labels.txt").write_text("a\nb\nc\nd\ne\n")
    assert zoo("export", "small.prototxt", "--weights", "small.caffemodel", "--to", "caffe", "-o", "model").code == 0
    Path("model/README.md").write_text("---\nname: small\n---\n")
    assert zoo("export", "model", "--to", "torch", "-o", "a.pt2").code == 0
    assert Path("a_labels.txt").read_text() == "a\nb\nc\nd\ne\n"


def test_an_exported_net_names_the_given_dialect(zoo):
    Path("bn.prototxt").write_text(
        'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }\n'
        'layer { name: "b" type: "BN" bottom: "x" top: "y" bn_param { slope_filler { value: 1 } } }\n'
    )
    Net("bn.prototxt", dialect="happynear").save("bn.caffemodel")
    export = ("export", "bn.prototxt", "--weights", "bn.caffemodel", "--to", "caffe", "-o", "out")
    code, _, err = zoo(*export, "--dialect", "happynear")
    assert code == 0, err
    assert Path("out/deploy.prototxt").read_text().startswith("# dialect: happynear\n")
    code, _, err = zoo(*export, "--dialect", "hapynear")
    assert (code, err.startswith("zoo: there is no dialect 'hapynear'; choose one of bvlc")) == (2, True), err


WORDS = ["../small.prototxt", "--weights", "../small.caffemodel"]


def test_an_export_to_caffe_is_published_with_the_net_after_its_weights(zoo, put: Put, published: list[str]) -> None:
    Path("../small_labels.txt").write_text("a\nb\nc\nd\ne\n")
    done = zoo("export", *WORDS, "--to", "caffe", "-o", "memory://bucket/out", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["files"] == [
        f"memory://bucket/out/{name}" for name in ("deploy.caffemodel", "deploy.prototxt", "labels.txt")
    ]
    assert published[-1] == "memory://bucket/out/deploy.prototxt" and not list(Path.cwd().iterdir())
    shown = zoo("show", "memory://bucket/out/deploy.caffemodel")
    assert shown.code == 0 and "InnerProduct" in shown.out
    net = "memory://bucket/out/deploy.prototxt"
    again = zoo("export", net, "--to", "caffe", "-o", "memory://bucket/out")
    assert again.code == 2 and "the folder contains 'deploy.prototxt', which is being exported" in again.err
    assert again.err.startswith("zoo: memory://bucket/out: ") and len(published) == 3


@pytest.mark.parametrize(
    ("target", "file"), [pytest.param("onnx", "a.onnx", marks=needs_onnx), ("torch", "a.pt2")], ids=["onnx", "torch"]
)
def test_an_export_of_one_file_is_published_after_its_proof(zoo, target: str, file: str, put: Put) -> None:
    address = f"memory://bucket/{file}"
    done = zoo("export", *WORDS, "--to", target, "-o", address)
    assert done.code == 0 and f"wrote {address}\n" in done.out, done.err
    here = zoo("export", *WORDS, "--to", target, "-o", file)
    assert here.code == 0 and [*stored()] == [f"/bucket/{file}"]
    put("memory://bucket/other", "old")
    failed = zoo("export", *WORDS, "--to", target, "-o", "memory://bucket/other", "--tolerance", "0", "--rgb")
    assert failed.code == 2 and stored("/bucket/other") == {"/bucket/other": b"old"}


@needs_onnx
def test_a_program_exports_to_an_address(put: Put, published: list[str]) -> None:
    model = open_model("../small.prototxt", ["../small.caffemodel"], deployed=True)
    export_onnx(deploy_model(model), "memory://bucket/a.onnx", external=True)
    assert published == ["memory://bucket/a.onnx.data", "memory://bucket/a.onnx"]
    Net("../small.prototxt").save("memory://bucket/a.caffemodel")
    assert "/bucket/a.caffemodel" in stored()


@needs_onnx
def test_an_exported_model_contains_its_card_and_the_hashes_of_its_files(zoo) -> None:
    assert zoo("export", "shapes", "--to", "onnx", "-o", "s.onnx", "--no-verify").code == 0
    own, found = (json.loads(zoo("card", name, "--json").out) for name in ("shapes", "s.onnx"))
    text = found.pop("text")
    assert found == {name: value for name, value in own.items() if name != "text"}
    assert re.fullmatch(rf"Exported by netdsl \S+ from shapes\.caffemodel \(SHA-256 {own['sha256']}\)\.", text)


@needs_onnx
def test_the_card_of_an_exported_model_describes_its_own_input_and_output(zoo) -> None:
    rewritten = "--rgb", "--mean", "128,128,128", "--prune-to", "conv3"
    assert zoo("export", "shapes", "--to", "onnx", "-o", "s.onnx", "--no-verify", *rewritten).code == 0
    found = json.loads(zoo("card", "s.onnx", "--json").out)
    assert (found["input"]["channels"], found["input"]["mean"], found["task"], found["results"]) == (
        "RGB",
        [],
        None,
        [],
    )


@needs_onnx
def test_a_model_without_a_card_says_so(zoo) -> None:
    assert zoo("export", "small.caffemodel", "--to", "onnx").code == 0
    done = zoo("card", "small.onnx")
    assert done.code == 2 and "small.onnx: the model contains no card" in done.err
    Path("text.onnx").write_text("text")
    assert "text.onnx: not a readable ONNX model" in zoo("card", "text.onnx").err


@needs_onnx
def test_a_net_is_quantized_with_its_own_test_data_or_others(zoo, lenet: Path) -> None:
    Net(lenet / "train_val.prototxt").save("lenet.caffemodel")
    words = ["export", "lenet", "--weights", "lenet.caffemodel", "--to", "onnx", "--int8", "--calibrate-items", "100"]
    found = json.loads(zoo(*words, "--json").out)
    assert found["quantized"]["items"] == 108  # three batches of 36
    assert 0 < found["quantized"]["difference"] < 0.5
    assert [each["what"] for each in found["proofs"]] == ["normalizations and scales folded", "as onnx"]
    assert found["notes"] == ["the score of the quantized model: zoo test lenet --with lenet.onnx"]
    assert Path("lenet.onnx").stat().st_size < Path("lenet.caffemodel").stat().st_size / 3
    done = zoo(*words, "--calibrate", "digits:train", "-o", "other.onnx")
    assert done.code == 0 and "quantized to int8: outputs differ by " in done.out and " on 108 items" in done.out
    assert zoo(*words, "--no-verify").out.splitlines()[-3] == "quantized to int8: not compared"


@needs_onnx
def test_images_are_prepared_for_a_net_without_test_data(zoo) -> None:
    Path("small.card.md").write_text("---\nname: small\ninput: {size: [8, 8], mean: [1, 2, 3]}\n---\n")
    Path("deploy.prototxt").write_text(
        NET.replace(
            'type: "Data" top: "data" top: "label" transform_param { crop_size: 8 }', 'type: "Input" top: "data"'
        )
        .replace('data_param { source: "x" batch_size: 3 }', "input_param { shape { dim: [1, 3, 8, 8] } }")
        .replace(
            'type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"', 'type: "Softmax" bottom: "ip" top: "p"'
        )
    )
    words = ["deploy.prototxt", "--weights", "small.caffemodel", "--to", "onnx", "--int8"]
    assert "the net has no test data with which the quantization can be calibrated" in refused(zoo, *words)
    words += ["--calibrate", "shapes:test", "--calibrate-items", "30"]
    plain, swapped = (
        json.loads(zoo("export", *words, *more, "--json").out) for more in ([], ["--rgb", "--mean", "9,8,7"])
    )
    assert plain["quantized"]["items"] == swapped["quantized"]["items"] == 30
    assert max(each["quantized"]["difference"] for each in (plain, swapped)) < 0.2  # else the ranges belong to others
    assert zoo("data", "convert", "shapes:test", "folder:photos").code == 0
    done = zoo("export", *words[:-4], "--calibrate", "photos/*/*.png", "--calibrate-items", "30")
    assert done.code == 0 and " on 30 items" in done.out
    done = zoo("export", *words[:-4], "--calibrate", "gone/*.jpg")
    assert (done.code, done.out) == (2, "") and "no file matches the pattern" in done.err
