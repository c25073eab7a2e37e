"""JSON from every command that documents it: one value, and no other text on standard output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

from netdsl import Net
from tests.test_house import ROOT
from zoo import cli as command_line

# A net whose data aren't available, and whose weights show how many channels they have.
NET = """layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: 'gone' batch_size: 2 } }
layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
  convolution_param { num_output: 4 kernel_size: 3 stride: 8 weight_filler { type: 'xavier' } } }
layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { pool: AVE global_pooling: true } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'pool' top: 'ip'
  inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"""
MODEL = ("net.prototxt", "--weights", "net.caffemodel")

# The commands that need shapes of data, which may be guesses, and the place in their JSON that describes the shapes.
GUESSING = {
    "check": (("check", "net.prototxt"), [0]),
    "convert": (("convert", "torch.npz", "out.caffemodel", "--net", "net.prototxt"), []),
    "export": (("export", *MODEL, "--to", "caffe", "-o", "out"), []),
    "plan": (("plan", "--solver", "solver.prototxt", "--items", "100"), []),
    "predict": (("predict", *MODEL, "image.png"), []),
    "show": (("show", "--shapes", "net.prototxt"), []),
    "time": (("time", *MODEL, "--iterations", "1"), []),
    "verify": (("verify", "net.prototxt,net.caffemodel", "net.prototxt,net.caffemodel"), ["models", 1]),
}
READING = {"features", "test"}  # commands that read data, and report their shapes all the same
# Commands that build no net, build it only from training data, whose shapes are in the run's own files, or describe
# each part of a project in words.
WITHOUT_SHAPES = {
    *(
        "adopt",
        "card",
        "diff",
        "doctor",
        "finetune",
        "fmt",
        "import",
        "list",
        "opencv",
        "propose",
        "pull",
        "push",
        "report",
        "simulate",
    ),
    *("store", "targets", "train", "upgrade", "data"),
}


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Return all commands by name, with a group's name before those of its commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def commands_with_json() -> set[str]:
    """Return the names of the commands with --json."""
    found = commands(command_line.zoo)
    return {name for name, command in found if any(parameter.name == "as_json" for parameter in command.params)}


def test_the_page_lists_the_commands_that_have_json() -> None:
    page = (ROOT / "docs/shell.md").read_text()
    listed = page.partition("These commands have it: ")[2].partition(". `zoo")[0]
    whole = ("simulate", "store", "targets")
    names = {name.split()[0] if name.split()[0] in whole else name for name in commands_with_json()}
    assert set(re.findall(r"`([a-z ]+)`", listed)) == names


def test_training_prints_its_result_and_nothing_else(zoo) -> None:
    code, out, err = zoo("train", "lenet", "--max-iter", "2", "--device", "cpu", "--json")
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert (result["net"], result["iteration"], result["finished"], result["run"]) == ("LeNet", 2, True, None)
    assert result["snapshot"]["model"] == "lenet_iter_2.caffemodel"
    (test,) = result["tests"]
    assert test["iteration"] == 2 and 0 <= test["outputs"]["accuracy"] <= 1
    assert [data["items"] for data in result["data"]] == [1442, 355]
    resumed = json.loads(zoo("train", "lenet", "--max-iter", "3", "--snapshot", "auto", "--json").out)
    assert (resumed["iteration"], resumed["finished"]) == (3, True)


def test_features_report_their_file(zoo, digits) -> None:
    words = ["features", digits.net, "--weights", digits.weights, digits.table, "--blob", "hidden"]
    code, out, err = zoo(*words, "-o", "out.parquet", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["output"], found["columns"]) == ("out.parquet", ["hidden"])
    assert "there is no 'cuda:99'" in zoo(*words, "-o", "other.parquet", "--device", "cuda:99").err


@pytest.fixture
def _model(tmp_path: Path) -> None:
    """Write the net with its weights, the same weights under torch's names, and an image."""
    import cv2

    (tmp_path / "net.prototxt").write_text(NET)
    (tmp_path / "solver.prototxt").write_text("net: 'net.prototxt' base_lr: 0.1 lr_policy: 'fixed' max_iter: 10")
    net = Net(tmp_path / "net.prototxt", shapes={"data": (3, 40, 40)})
    net.save(tmp_path / "net.caffemodel")
    weights = net.get_weights()
    names = {"conv": "first", "ip": "second"}
    arrays = {f"{names[layer]}.{kind}": array for layer in names
              for kind, array in zip(("weight", "bias"), weights[layer], strict=True)}  # fmt: skip
    arrays["second.weight"] = arrays["second.weight"].reshape(3, 4)
    np.savez(tmp_path / "torch.npz", **arrays)
    cv2.imwrite(str(tmp_path / "image.png"), np.zeros((9, 9, 3), np.uint8))


def test_every_json_command_reports_shapes_or_has_none() -> None:
    assert {name.split()[0] for name in commands_with_json()} == {*GUESSING, *READING, *WITHOUT_SHAPES}


@pytest.mark.usefixtures("_model")
@pytest.mark.parametrize("name", GUESSING)
def test_guessed_shapes_are_in_json_and_in_one_line(zoo, name: str) -> None:
    words, places = GUESSING[name]
    code, out, err = zoo(*words, "--json")
    assert code == 0, err
    found = json.loads(out)
    for place in places:
        found = found[place]
    assert found["data"]["data"] == {"shape": [3, 224, 224], "known": "guessed"}
    assert found["assumed"]["data"] == [3, 224, 224]
    if name != "check":  # `check` reports it in the line of each net
        assert len([line for line in err.splitlines() if "'data' is assumed to be 3x224x224" in line]) == 1


def test_shapes_from_data_are_in_json_too(zoo, digits) -> None:
    model = [digits.net, "--weights", digits.weights]
    features = zoo("features", *model, digits.table, "--blob", "hidden", "-o", "out.parquet", "--json")
    tested = zoo("test", *model, "--data", digits.table, "--json")
    for done in (features, tested):
        found = json.loads(done.out)
        assert found["assumed"] == {}
        assert {shape["known"] for shape in found["data"].values()} == {"read"}
