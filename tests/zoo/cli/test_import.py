"""`zoo import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, read_net, write
from caffe_proto.upgrade import upgrade_net

OLD = """name: "old" force_backward: true
input: "data" input_dim: 2 input_dim: 3 input_dim: 4 input_dim: 5
layers { name: "r" type: RELU bottom: "data" top: "r" }
"""
PROGRAM = '''"""old."""

from netdsl import Input, NetParams, ReLU

params = NetParams(
    "old",
    Input("input", tops=["data"], shape={"dim": [2, 3, 4, 5]}),
    ReLU("r", ["data"]),
    force_backward=True,
)
'''


@pytest.fixture(autouse=True)
def old(zoo) -> Path:
    path = Path("old.prototxt")
    path.write_text(OLD)
    return path


def test_a_net_of_any_age_becomes_a_program_that_makes_the_same_net(zoo, old: Path) -> None:
    assert zoo("import", "--as-dsl", "old.prototxt") == (0, PROGRAM, "")
    names: dict[str, Any] = {}
    exec(PROGRAM, names)
    assert names["params"].message == upgrade_net(read_net(old).message).message


def test_the_program_is_written_to_the_given_path(zoo) -> None:
    assert zoo("import", "old.prototxt", "--as-dsl", "-o", "old.py") == (0, "", "")
    assert Path("old.py").read_text() == PROGRAM


def test_weights_can_be_imported_for_their_net(zoo) -> None:
    write(CaffeFile(read_net("old.prototxt").message), "old.caffemodel")
    assert zoo("import", "--as-dsl", "old.caffemodel").out == PROGRAM


def test_json_contains_the_program_and_the_obstacles(zoo) -> None:
    code, out, err = zoo("import", "--as-dsl", "--json", "old.prototxt")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"file": "old.prototxt", "output": None, "program": PROGRAM, "problem": None}
    Path("bad.prototxt").write_text('layer { name: "r" type: "ReLU" bottom: "x" top: "r" }')
    assert "bottom 'x'" in json.loads(zoo("import", "--as-dsl", "--json", "bad.prototxt").out)["problem"]


def test_a_net_that_would_not_work_is_written_with_a_warning(zoo) -> None:
    Path("bad.prototxt").write_text('layer { name: "f" type: "Foo" top: "f" }')
    code, out, err = zoo("import", "--as-dsl", "bad.prototxt")
    assert (code, 'Foo("f")' in out) == (0, True)
    assert err.startswith("zoo: warning: bad.prototxt:1: unknown layer type 'Foo'")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ["old.prototxt"],
            "old.prototxt: this is a file, not a model of the zoo; to write it as a program, use --as-dsl",
        ),
        (["--as-dsl", "gone.prototxt"], "gone.prototxt: can't be opened: No such file"),
        (["--as-dsl", "solver.prototxt"], "solver.prototxt: this file contains a solver's settings instead of"),
        (["--as-dsl", "both.prototxt"], "both.prototxt: net 'n': the net uses both `layer` and `layers`"),
        (["--as-dsl", "untyped.prototxt"], "untyped.prototxt: layer 'x' has no type; set it, as in type: 'ReLU'"),
        (["--as-dsl", "old.prototxt", "-o", "gone/old.py"], "gone/old.py: can't be written: No such file"),
    ],
)
def test_files_that_cannot_be_imported_are_refused(zoo, words: list[str], what: str) -> None:
    write(CaffeFile(pb.SolverParameter(net="x")), "solver.prototxt")
    Path("both.prototxt").write_text("name: 'n' layers { name: 'a' } layer { name: 'b' }")
    Path("untyped.prototxt").write_text("layer { name: 'x' }")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, out, err = zoo("import", *words)
    assert (code, out) == (2, "")
    assert what in err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
