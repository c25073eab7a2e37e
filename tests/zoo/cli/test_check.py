"""`zoo check`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

GOOD = """input: "data" input_shape { dim: [2, 3, 7, 5] }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 4 kernel_size: 3 } }
"""
TEMPLATE = GOOD.replace("num_output: 4", "num_output: cls3x")
UNKNOWN = GOOD.replace('"Convolution"', '"Convolutoin"')
PYTHON = """input: "data" input_shape { dim: [2, 3] }
layer { name: "mine" type: "Python" bottom: "data" top: "mine" python_param { module: "office" layer: "Secret" } }
"""
DATA = """layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "nowhere" batch_size: 4 } }
layer { name: "slice" type: "Slice" bottom: "data" top: "one" top: "two" slice_param { slice_point: 1 } }
layer { name: "sum" type: "Eltwise" bottom: "one" bottom: "two" top: "sum" }
"""
FIELDS = ["file", "parsed", "resolved", "ran", "reason", "phases", "needs_code", "data", "stubbed"]
FIELDS += ["unread", "skipped", "batch", "doubts", "caffe_notes", "assumed"]


@pytest.fixture
def files(zoo) -> None:
    for name in ("good", "template", "unknown", "python", "data"):
        Path(f"{name}.prototxt").write_text(globals()[name.upper()])


def test_a_valid_net_passes(zoo, files) -> None:
    assert zoo("check", "good.prototxt") == (0, "good.prototxt: good for TEST and TRAIN\n", "")
    assert zoo("check", "--run", "good.prototxt") == (0, "good.prototxt: good for TEST and TRAIN, runs\n", "")


def test_notes_about_caffe_follow_a_valid_net(zoo) -> None:
    loss = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "y" top: "loss" top: "prob" }'
    Path("two.prototxt").write_text(
        'layer { name: "in" type: "Input" top: "x" top: "y" input_param { shape { dim: [2, 3] } shape { dim: 2 } } }\n'
        + loss
    )
    code, out, err = zoo("check", "two.prototxt")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "two.prototxt: good for TEST and TRAIN",
        "two.prototxt:2: layer 'loss': Caffe refuses 2 tops without loss_weight; give one for each",
    ]


def test_missing_private_code_is_reported(zoo, files) -> None:
    code, out, _ = zoo("check", "python.prototxt")
    assert (code, out) == (
        1,
        "python.prototxt: the net needs the Python code of office.Secret; "
        "if you trust it, give --allow-python office\n",
    )


def test_stubs_are_named(zoo, files) -> None:
    for name, stub in (("python", "office.Secret"), ("unknown", "Convolutoin")):
        good = f"{name}.prototxt: good for TEST and TRAIN, runs, with stubs for {stub}\n"
        assert zoo("check", "--run", "--stub-unknown", f"{name}.prototxt") == (0, good, "")


def test_assumptions_are_reported(zoo, files) -> None:
    assert "fit for TEST and TRAIN, with data assumed to be 2x28x28 (a guess), but" in zoo("check", "data.prototxt").out
    assert "fit for TEST and TRAIN, with data assumed to be 2x9x11, but" in (
        zoo("check", "--assume", "data=2x9x11", "data.prototxt").out
    )


def test_a_net_with_unreadable_data_fails(zoo, files) -> None:
    code, out, _ = zoo("check", "--assume", "data=2x9x11", "data.prototxt")
    assert code == 0
    assert out == (
        "data.prototxt: layers and shapes fit for TEST and TRAIN, with data assumed to be 2x9x11, "
        "but data can't be read: "
        "data.prototxt:1: layer 'data': nowhere: there is no such folder; name a LevelDB\n"
    )
    assert json.loads(zoo("check", "--json", "data.prototxt").out)[0]["unread"] == [
        "data.prototxt:1: layer 'data': nowhere: there is no such folder; name a LevelDB"
    ]


def test_the_first_item_is_read(zoo) -> None:
    Path("net.prototxt").write_text(
        'layer { name: "data" type: "ImageData" top: "data" top: "label" '
        'image_data_param { source: "list.txt" batch_size: 2 } }'
    )
    Path("list.txt").write_text("gone.png 3\n")
    assert "data can't be read: net.prototxt:1: layer 'data': " in zoo("check", "net.prototxt").out
    Path("net.prototxt").write_text(DATA.replace("nowhere", "digits:train").replace("slice_point: 1", "axis: 2"))
    assert zoo("check", "--assume", "data=1x8x8", "net.prototxt").out.startswith(
        "net.prototxt: good for TEST and TRAIN"
    )


ENDS_PROCESS = """
import os

import caffe


class Ends(caffe.Layer):
    def setup(self, bottom, top):
        os.abort()
"""


def test_every_file_has_its_line_and_fails_alone(zoo, files) -> None:
    Path("ends_process.py").write_text(ENDS_PROCESS)
    Path("ends.prototxt").write_text(
        "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 } } }"
        "layer { name: 'p' type: 'Python' bottom: 'x' top: 'y' python_param { module: 'ends_process' layer: 'Ends' } }"
    )
    names = ("template", "unknown", "gone", "good", "ends", "good")
    code, out, err = zoo("check", "--allow-python", "ends_process", *(f"{name}.prototxt" for name in names))
    assert (code, err) == (1, "")
    template, unknown, gone, before, ends, after = out.splitlines()
    assert template.startswith("template.prototxt:2:")
    assert template.endswith("if this is a template, fill in its placeholders first")
    assert "'Convolutoin' (layers conv, did you mean Convolution?)" in unknown
    assert gone == "gone.prototxt: can't be opened: No such file or directory; check the path and its permissions"
    assert ends.startswith("ends.prototxt: it ended its process (SIGABRT)")
    assert before == after == "good.prototxt: good for TEST and TRAIN"


def test_a_check_does_not_switch_on_a_camera(zoo) -> None:
    Path("net.prototxt").write_text(
        'layer { name: "data" type: "VideoData" top: "data" data_param { batch_size: 1 } '
        "video_data_param { device_id: 9876 } }"
    )
    assert (
        zoo("check", "net.prototxt").out
        == "net.prototxt: good for TEST and TRAIN, with data assumed to be 3x224x224 (a guess)\n"
    )


def test_a_data_layer_without_a_source_is_reported(zoo) -> None:
    Path("net.prototxt").write_text(DATA.replace('source: "nowhere"', ""))
    assert "data can't be read: net.prototxt:1: layer 'data': source is missing" in zoo("check", "net.prototxt").out


@pytest.mark.parametrize("wrong", ["data", "=3x4", "data=", "data=3x", "data=3x-4", "data=3x0", "data=3,4", "data=axb"])
def test_an_invalid_shape_is_refused(zoo, files, wrong) -> None:
    code, out, err = zoo("check", "--assume", wrong, "data.prototxt")
    assert (code, out) == (2, "")
    assert f"'{wrong}' isn't a blob and its shape" in err


def test_an_unused_assumption_gives_a_warning(zoo, files) -> None:
    code, _, err = zoo("check", "--assume", "daat=3x4x5", "good.prototxt")
    assert (code, err) == (0, "zoo: warning: --assume daat: no data layer produces this blob\n")


def test_stages_select_layers(zoo, files) -> None:
    staged = UNKNOWN.replace('bottom: "data"', 'include { stage: "odd" } bottom: "data"')
    Path("staged.prototxt").write_text(staged)
    assert zoo("check", "staged.prototxt").code == 0
    assert zoo("check", "--stage", "odd", "staged.prototxt").code == 1


def test_json_has_a_finding_for_every_file(zoo, files) -> None:
    names = ["good", "template", "unknown", "python", "data"]
    code, out, err = zoo("check", "--run", "--json", *(f"{name}.prototxt" for name in names))
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert [list(each) for each in found] == [FIELDS] * 5
    assert [each["file"] for each in found] == [f"{name}.prototxt" for name in names]
    assert [each["parsed"] for each in found] == [True, False, True, True, True]
    assert [each["resolved"] for each in found] == [True, False, False, False, True]
    assert [each["ran"] for each in found] == [True, None, None, None, True]
    assert [each["needs_code"] for each in found] == [[], [], [], ["office.Secret"], []]
    assert [bool(each["reason"]) for each in found] == [False, True, True, True, False]
    assert found[4]["assumed"] == {"data": [2, 28, 28]}


def test_differences_from_caffes_gradients_are_reported_in_a_line(zoo, files) -> None:
    clip = 'layer { name: "clip" type: "Clip" bottom: "conv" top: "conv" clip_param { min: 0 max: 1 } } '
    loss = 'layer { name: "loss" type: "Reduction" bottom: "conv" top: "loss" loss_weight: 1 }'
    Path("good.prototxt").write_text(GOOD + clip + loss)
    code, out, err = zoo("check", "good.prototxt")
    assert (code, err) == (0, "")
    good, note = out.splitlines()
    assert good == "good.prototxt: good for TEST and TRAIN"
    assert note.startswith("good.prototxt: the gradients of layer 'clip' differ from Caffe's")


def test_files_are_needed(zoo) -> None:
    code, _, err = zoo("check")
    assert code == 2
    assert "Missing argument 'FILE...'" in err


def test_an_unknown_field_is_reported_before_its_consequences(zoo) -> None:
    typo = "convolution_param { num_ouput: 3 kernel_size: 3 }"
    layer = f'layer {{ name: "c" type: "Convolution" bottom: "data" top: "c" {typo} }}'
    Path("typo.prototxt").write_text(f'input: "data" input_shape {{ dim: [1, 3, 9, 9] }}\n{layer}\n')
    field, missing = zoo("check", "typo.prototxt").out.splitlines()
    what = "layer 'c': unknown field 'num_ouput' in convolution_param; did you mean num_output? (skipped)"
    assert field.startswith("typo.prototxt:2:") and field.endswith(what)
    assert missing == "typo.prototxt:2: layer 'c': num_output is missing; set it to 1 or more"


def test_many_unknown_fields_are_counted(zoo) -> None:
    Path("fork.prototxt").write_text(
        "input: 'data'\n" + "odd: 1\n" * 8 + "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }"
    )
    checked = zoo("check", "fork.prototxt")
    lines = checked.out.splitlines()
    assert checked.code == 1
    assert [line.partition(": ")[0] for line in lines[:5]] == [f"fork.prototxt:{line}:1" for line in range(2, 7)]
    assert lines[5] == "fork.prototxt: 3 more fields are unknown (skipped)"
    assert lines[6].startswith("fork.prototxt: good for TEST and TRAIN without the unknown fields, which `zoo upgrade")


SEGMENTS = """input: "data"
layer { name: "r" type: "Reshape" bottom: "data" top: "r" reshape_param { shape { dim: [-1, 10, 3, 224, 224] } } }
"""


def test_a_net_for_one_batch_size_is_distinguished_from_a_broken_one(zoo) -> None:
    Path("segments.prototxt").write_text(SEGMENTS)
    code, out, _ = zoo("check", "segments.prototxt")
    fits = "good for TEST and TRAIN, with data assumed to be 3x224x224 (a guess), with a batch that is a multiple of 10"
    assert (code, out.splitlines()[0]) == (0, f"segments.prototxt: {fits}")
    Path("one.prototxt").write_text(SEGMENTS.replace('"data"\n', '"data" input_shape { dim: [1, 3, 224, 224] }\n', 1))
    code, out, _ = zoo("check", "one.prototxt")
    assert code == 1
    assert out.endswith("use a batch that is a multiple of 10\n")
    Path("broken.prototxt").write_text(SEGMENTS.replace("3, 224, 224]", "7, 1, 9]"))
    assert "multiple" not in zoo("check", "broken.prototxt")[1]


def test_ambiguous_layers_of_forks_are_reported(zoo) -> None:
    bn = 'layer { name: "b" type: "BN" bottom: "data" top: "b" bn_param { momentum: 0.9 } }'
    Path("doubt.prototxt").write_text(f'input: "data" input_shape {{ dim: [1, 3, 4, 4] }}\n{bn}')
    code, out, _ = zoo("check", "doubt.prototxt")
    doubt, result = out.splitlines()
    assert (code, result) == (0, "doubt.prototxt: good for TEST and TRAIN")
    assert doubt.startswith("doubt.prototxt:2: layer 'b': BN is assumed to be PSPNet's and TSN's; happynear's averages")
    assert doubt.endswith("; if it is happynear-ms, name the dialect with --dialect")
    assert zoo("check", "--dialect", "pspnet", "doubt.prototxt")[1] == f"{result}\n"


TRAINING = """layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "none" batch_size: 4 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def test_training_is_tried_on_generated_data(zoo, files) -> None:
    Path("nets/deep").mkdir(parents=True)
    Path("nets/deep/a.prototxt").write_text(TRAINING)
    Path("nets/b.prototxt").write_text(GOOD)
    Path("nets/solver.prototxt").write_text('net: "b.prototxt"')
    Path("nets/c.prototxt").write_text(TRAINING.replace('"Data"', '"Python" python_param { module: "m" layer: "L" }'))
    code, out, err = zoo("check", "--data", "nets")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "nets/b.prototxt: the net has no loss in TRAIN"
    assert lines[1].startswith("nets/c.prototxt:1: layer 'data': the layer runs Python code from module 'm'")
    assert re.fullmatch(
        r"nets/deep/a.prototxt: reads its data and computes a loss of 1\.099 and gradients in [\d.]+ s", lines[2]
    )
    assert lines[3] == "2 nets with a loss: 1 read their data, 1 compute the loss"


def test_a_trial_is_reported_in_json(zoo) -> None:
    Path("a.prototxt").write_text(TRAINING)
    code, out, _ = zoo("check", "--data", "--json", "--forward-only", "--batch", "3", "a.prototxt")
    (trial,) = json.loads(out)
    assert code == 0 and trial.pop("seconds") > 0 and trial.pop("loss") == pytest.approx(1.0986, abs=1e-3)
    assert trial == {
        "file": "a.prototxt",
        "trains": True,
        "reads": True,
        "backward": False,
        "reason": "",
        "shapes": {"data": [3, 3, 224, 224], "label": [3]},
    }


def test_a_solver_is_checked_with_all_that_it_names(zoo, files) -> None:
    Path("train.prototxt").write_text(DATA.split('layer { name: "slice')[0])
    solver = 'net: "train.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 5 snapshot_prefix: "few"'
    Path("solver.prototxt").write_text(solver)
    code, out, err = zoo("check", "solver.prototxt")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "solver solver.prototxt: SGD for 5 iterations",
        "net train.prototxt: good for TRAIN",
        "train.prototxt:1: layer 'data': nowhere: there is no such folder; name a LevelDB",
        "snapshots few: in .",
    ]
    found = json.loads(zoo("check", "--json", "solver.prototxt").out)
    assert [link["part"] for link in found] == ["solver", "net", "data", "snapshots"]
