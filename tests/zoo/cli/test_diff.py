"""`zoo diff`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, write

OLD = 'name: "n" layers { name: "r:cat:" type: RELU } layers { name: "gone[/]" type: TANH }'
NEW = 'layer { name: "new" } layer { name: "r:cat:" type: "ReLU" relu_param { negative_slope: 0.1 } }'


@pytest.fixture
def files(zoo) -> None:
    Path("old.prototxt").write_text(OLD)
    Path("new.prototxt").write_text(NEW)
    for name, values in {"a": [1, 2], "b": [1, 2.5], "c": [[1, 2]], "d": [1, np.inf]}.items():
        file = CaffeFile(pb.NetParameter())
        file.blobs.put(file.message.layer.add(name="ip").blobs.add(), np.array(values, np.float32))
        write(file, f"{name}.caffemodel")


def test_structure_is_compared_by_name(zoo, files) -> None:
    assert zoo("diff", "old.prototxt", "new.prototxt") == (
        1,
        "- layer 'gone[/]'\n"
        "+ layer 'new'\n"
        '~ name: "n" -> (not set)\n'
        "~ layer 'r:cat:': relu_param.negative_slope: (not set) -> 0.1\n",
        "",
    )


def test_layers_in_another_order_are_reported(zoo) -> None:
    Path("a.prototxt").write_text("layer { name: 'a' } layer { name: 'b' }")
    Path("b.prototxt").write_text("layer { name: 'b' } layer { name: 'a' }")
    assert zoo("diff", "a.prototxt", "b.prototxt") == (1, "~ layers are in another order\n", "")


def test_an_old_net_equals_its_upgraded_form_unless_taken_as_written(zoo, files) -> None:
    assert zoo("upgrade", "old.prototxt", "today.prototxt").code == 0
    assert zoo("diff", "old.prototxt", "today.prototxt") == (0, "no difference\n", "")
    code, out, _ = zoo("diff", "--as-written", "old.prototxt", "today.prototxt")
    assert code == 1
    assert "~ layer 'r:cat:': type: RELU -> \"ReLU\"\n" in out


@pytest.mark.parametrize(
    ("second", "code", "line"),
    [
        ("a", 0, "  layer 'ip', blob 0: equal\nno difference\n"),
        ("b", 1, "~ layer 'ip', blob 0: largest difference 0.5, relative 0.25\n"),
        ("c", 1, "~ layer 'ip', blob 0: shape [2] -> [1, 2]\n"),
        ("d", 1, "~ layer 'ip', blob 0: largest difference inf, relative inf\n"),
    ],
)
def test_weights_are_compared_by_number(zoo, files, second: str, code: int, line: str) -> None:
    assert zoo("diff", "a.caffemodel", f"{second}.caffemodel") == (code, line, "")


def test_json_contains_the_same_differences(zoo, files) -> None:
    code, out, _ = zoo("diff", "--json", "old.prototxt", "new.prototxt")
    assert code == 1
    assert json.loads(out) == {
        "equal": False,
        "removed": ["layer 'gone[/]'"],
        "added": ["layer 'new'"],
        "moved": False,
        "settings": [
            {"where": "name", "before": '"n"', "after": None},
            {"where": "layer 'r:cat:': relu_param.negative_slope", "before": None, "after": "0.1"},
        ],
        "weights": [],
    }
    code, out, _ = zoo("diff", "--json", "a.caffemodel", "a.caffemodel")
    assert (code, json.loads(out)["equal"]) == (0, True)


def test_json_contains_no_nan_or_infinity(zoo, files) -> None:
    out = zoo("diff", "--json", "a.caffemodel", "d.caffemodel").out
    (line,) = json.loads(out, parse_constant=pytest.fail)["weights"]
    assert (line["largest"], line["relative"]) == ("Infinity", "Infinity")


def test_models_can_be_named_and_files_of_two_kinds_are_refused(zoo) -> None:
    assert zoo("diff", "lenet", "lenet") == (0, "no difference\n", "")
    Path("solver.prototxt").write_text("base_lr: 0.1 net: 'x'")
    code, out, err = zoo("diff", "lenet", "solver.prototxt")
    assert (code, out) == (2, "")
    assert err.startswith("zoo: lenet is a NetParameter, solver.prototxt a SolverParameter; ")
