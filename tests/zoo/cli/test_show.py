"""`zoo show`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, write

NET = """name: "tiny"
input: "x" input_shape { dim: [2, 3, 7, 5] }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv" include { phase: TEST }
  convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "[red]:cat:[/]" type: "ReLU" bottom: "conv" bottom: "x" top: "conv" }
"""


@pytest.fixture
def files(zoo) -> None:
    Path("net.prototxt").write_text(NET)
    Path("solver.prototxt").write_text("net: 'net.prototxt' base_lr: 0.01")
    weights = CaffeFile(pb.NetParameter(name="w"))
    weights.blobs.put(weights.message.layer.add(name="conv").blobs.add(), np.ones((4, 3, 3, 3), np.float32))
    write(weights, "w.caffemodel")
    mean = CaffeFile(pb.BlobProto())
    mean.blobs.put(mean.message, np.array([[np.nan, -np.inf, 1]], np.float32))
    write(mean, "mean.binaryproto")


def test_a_net_is_a_table_of_its_layers(zoo, files) -> None:
    code, out, err = zoo("show", "net.prototxt")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines() if line.strip()]
    assert lines[0] == "net.prototxt: tiny NetParameter (prototxt)"
    assert lines[1] == "input x 2 x 3 x 7 x 5"
    assert lines[2] == "layer type bottom top settings when"
    assert lines[4] == "conv Convolution x conv num_output: 4 kernel_size: 3 include {phase: TEST}"
    assert lines[5] == "[red]:cat:[/] ReLU conv conv"
    assert lines[6] == "x"
    assert lines[7] == "2 layers"


@pytest.mark.parametrize(("columns", "widest"), [("48", 48), ("120", 120), ("", 200), ("0", 200)])
def test_a_piped_tables_width_follows_columns(
    zoo, files, monkeypatch: pytest.MonkeyPatch, columns: str, widest: int
) -> None:
    Path("wide.prototxt").write_text(f'layer {{ name: "a" python_param {{ param_str: "{"word " * 80}" }} }}')
    monkeypatch.setenv("COLUMNS", columns)
    lines = zoo("show", "wide.prototxt").out.splitlines()
    assert widest - 5 <= max(map(len, lines)) <= widest


def test_naming_a_folder_points_to_the_command_for_data(zoo) -> None:
    Path("train lmdb").mkdir()
    code, out, err = zoo("show", "train lmdb")
    assert (code, out) == (2, "")
    assert err == (
        "zoo: train lmdb: this is a folder, not a file; name a file in it, or show its data: "
        "zoo data show 'train lmdb'\n"
    )


def test_weights_are_shown_with_shapes_and_their_number(zoo, files) -> None:
    _, out, _ = zoo("show", "w.caffemodel")
    assert out.startswith("w.caffemodel: w NetParameter (binary)")
    assert "4 x 3 x 3 x 3          108" in out
    assert out.endswith("1 layer, 108 parameters\n")


def test_a_solver_is_a_table_of_its_settings(zoo, files) -> None:
    lines = [line.split() for line in zoo("show", "solver.prototxt").out.splitlines()]
    assert ["base_lr", "0.01"] in lines
    assert ["net", '"net.prototxt"'] in lines


def test_a_mean_is_a_table_of_its_values(zoo, files) -> None:
    _, out, err = zoo("show", "mean.binaryproto")
    assert err == ""
    assert "1 x 3   float32       nan       nan    nan" in out


def test_json_contains_the_tables_values(zoo, files) -> None:
    code, out, err = zoo("show", "--json", "net.prototxt")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["file"], found["name"], found["inputs"]) == ("net.prototxt", "tiny", [["x", [2, 3, 7, 5]]])
    assert [line["name"] for line in found["layers"]] == ["conv", "[red]:cat:[/]"]
    assert found["layers"][1]["bottoms"] == ["conv", "x"]


def test_json_of_several_files_is_a_list(zoo, files) -> None:
    found = json.loads(zoo("show", "--json", "net.prototxt", "w.caffemodel").out)
    assert [each["file"] for each in found] == ["net.prototxt", "w.caffemodel"]


def test_json_contains_no_nan_or_infinity(zoo, files) -> None:
    (blob,) = json.loads(zoo("show", "--json", "mean.binaryproto").out, parse_constant=pytest.fail)["blobs"]
    assert (blob["minimum"], blob["maximum"], blob["mean"]) == ("NaN", "NaN", "NaN")


def test_one_bad_file_among_good_ones_fails(zoo, files) -> None:
    code, _, err = zoo("show", "net.prototxt", "gone.prototxt")
    assert code == 2
    assert err == "zoo: gone.prototxt: can't be opened: No such file or directory; check the path and its permissions\n"


def test_a_net_of_the_catalogue_is_shown_without_loading_torch() -> None:
    program = """
import sys
from zoo.cli import zoo
zoo.main(["show", "resnet-50"], standalone_mode=False)
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("resnet-50: ResNet-50 NetParameter (prototxt)\n")
    assert done.stdout.endswith("232 layers\nFalse\n")


def test_a_named_dialect_must_exist(zoo, files) -> None:
    code, _, err = zoo("show", "--dialect", "klingon", "w.caffemodel")
    assert code == 2
    assert err.startswith("zoo: there is no dialect 'klingon'; choose one of bvlc, ")
    assert err.count("\n") == 1


SHAPED = """input: "x" input_shape { dim: [2, 3, 7, 5] }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv" convolution_param { num_output: 4 kernel_size: 3 } }
"""
STRANGE = SHAPED + 'layer { name: "odd" type: "Magic" bottom: "conv" top: "a" top: "b" include { phase: TEST } }'


def table(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines() if line.strip(" \u2500")]


def test_shapes_are_shown_for_every_phase(zoo) -> None:
    Path("net.prototxt").write_text(SHAPED)
    code, out, err = zoo("show", "--shapes", "net.prototxt")
    assert (code, err) == (0, "")
    rows = ["layer type top shape", "input Input x 2 x 3 x 7 x 5", "conv Convolution conv 2 x 4 x 5 x 3"]
    assert table(out) == ["net.prototxt: TEST", *rows, "net.prototxt: TRAIN", *rows]


def test_assumed_shapes_change_the_others(zoo) -> None:
    Path("net.prototxt").write_text(SHAPED)
    code, out, err = zoo("show", "--shapes", "--assume", "x=3x9x8", "net.prototxt")
    assert (code, err) == (0, "")
    assert "conv Convolution conv 2 x 4 x 7 x 6" in table(out)


def test_an_unknown_type_is_named_and_can_be_stubbed(zoo) -> None:
    Path("net.prototxt").write_text(STRANGE)
    code, out, err = zoo("show", "--shapes", "net.prototxt")
    assert (code, out) == (2, "")
    assert err.startswith("zoo: net.prototxt:3: unknown layer type 'Magic' (layers odd)")
    code, out, err = zoo("show", "--shapes", "--stub-unknown", "net.prototxt")
    assert (code, err) == (0, "")
    assert table(out)[0] == "net.prototxt: Magic passes its input through"
    assert "odd Magic b 2 x 4 x 5 x 3" in table(out)


def test_json_has_the_shapes(zoo) -> None:
    Path("net.prototxt").write_text(STRANGE)
    code, out, err = zoo("show", "--shapes", "--stub-unknown", "--json", "net.prototxt")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["file"], found["assumed"], found["stubbed"]) == ("net.prototxt", {}, ["Magic"])
    assert list(found["phases"]) == ["TEST", "TRAIN"]
    assert found["phases"]["TRAIN"][1] == {"layer": "conv", "type": "Convolution", "top": "conv", "shape": [2, 4, 5, 3]}
    assert [top["top"] for top in found["phases"]["TEST"]] == ["x", "conv", "a", "b"]


def test_files_without_shapes_are_reported(zoo, files) -> None:
    code, _, err = zoo("show", "--shapes", "solver.prototxt")
    assert (code, err) == (
        2,
        "zoo: solver.prototxt: the file is a SolverParameter, not a net, so it has no shapes to infer; "
        "leave --shapes out\n",
    )


def test_shape_options_require_shapes(zoo, files) -> None:
    code, _, err = zoo("show", "--assume", "x=3x9x8", "net.prototxt")
    assert code == 2
    assert "--assume, --stage and --stub-unknown need --shapes" in err


def test_an_unused_assumption_gives_a_warning(zoo) -> None:
    Path("net.prototxt").write_text(SHAPED)
    code, _, err = zoo("show", "--shapes", "--assume", "y=3", "net.prototxt")
    assert (code, err) == (0, "zoo: warning: --assume y: no data layer produces this blob\n")


def test_torch_is_not_loaded_without_shapes() -> None:
    check = "import sys, zoo.cli.files, zoo.files; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_layers_many_blobs_are_counted(zoo) -> None:
    blobs = "blobs { shape { dim: 2 } } " * 30
    Path("many.prototxt").write_text(f'layer {{ name: "ip" type: "InnerProduct" {blobs} }}')
    out = zoo("show", "many.prototxt").out
    assert out.count(" 2 ") + out.count(" 2\n") == 20
    assert "... 10 more" in out
