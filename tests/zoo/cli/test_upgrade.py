"""`zoo upgrade`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, read, write

OLD = 'layers { name: "r" type: RELU bottom: "x" top: "y" }  # caf\udce9\n'
NEW = 'layer {\n  name: "r"\n  type: "ReLU"\n  bottom: "x"\n  top: "y"\n}  # caf\udce9\n'
CHANGE = "layer 'r': V1 type RELU became ReLU"


@pytest.fixture
def old(zoo) -> Path:
    path = Path("old.prototxt")
    path.write_text(OLD, encoding="utf-8", errors="surrogateescape")
    return path


def content(path: str | Path) -> str:
    return Path(path).read_text(encoding="utf-8", errors="surrogateescape")


def test_the_result_and_the_changes_are_printed_separately(zoo, old: Path) -> None:
    assert zoo("upgrade", "old.prototxt") == (0, NEW, CHANGE + "\n")
    assert content(old) == OLD


def test_the_result_is_written_to_the_given_path(zoo, old: Path) -> None:
    assert zoo("upgrade", "old.prototxt", "new.prototxt") == (0, "", CHANGE + "\n")
    assert (content("new.prototxt"), content(old)) == (NEW, OLD)


def test_the_result_is_written_in_place(zoo, old: Path) -> None:
    assert zoo("upgrade", "--in-place", "old.prototxt").code == 0
    assert content(old) == NEW
    assert zoo("upgrade", "--in-place", "old.prototxt") == (0, "", "already in the current format\n")


def test_json_lists_the_changes(zoo, old: Path) -> None:
    code, out, err = zoo("upgrade", "--json", "old.prototxt")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"file": "old.prototxt", "output": None, "changes": [CHANGE]}
    assert json.loads(zoo("upgrade", "--json", "old.prototxt", "new.prototxt").out)["output"] == "new.prototxt"
    assert content("new.prototxt") == NEW


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--in-place", "old.prototxt", "new.prototxt"], "OUTPUT and --in-place both name the result's file"),
        (["w.caffemodel"], "a binary file can't be printed; name OUTPUT, or use --in-place"),
        (["old.prototxt", "new.txt"], "new.txt: can't tell the format from the name"),
        (["old.prototxt", "gone/new.prototxt"], "gone/new.prototxt: can't be written: No such file or directory"),
    ],
)
def test_a_wrong_target_is_reported_and_no_file_is_written(zoo, old: Path, words: list[str], what: str) -> None:
    write(CaffeFile(pb.NetParameter(name="n")), "w.caffemodel")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, out, err = zoo("upgrade", *words)
    assert (code, out) == (2, "")
    assert what in err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_an_error_leaves_the_file_unchanged(zoo) -> None:
    text = "name: 'n' layers { name: 'a' } layer { name: 'b' }"
    Path("bad.prototxt").write_text(text)
    assert zoo("upgrade", "--in-place", "bad.prototxt").code == 2
    assert content("bad.prototxt") == text


def test_a_binary_suffix_writes_a_binary_net(zoo, old: Path) -> None:
    assert zoo("upgrade", "old.prototxt", "new.caffemodel").code == 0
    assert [layer.type for layer in read("new.caffemodel").message.layer] == ["ReLU"]


def test_a_solver_is_upgraded_too(zoo) -> None:
    Path("solver.prototxt").write_text("solver_type: NESTEROV  # fast\n")
    assert zoo("upgrade", "solver.prototxt").out == 'type: "Nesterov"  # fast\n'
