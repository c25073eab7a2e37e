"""A command opens each file once, brings each net to today's form once, and builds its layers once for each phase."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"

# A program that runs a command and counts: files of the current folder that are opened, and calls of two functions.
COUNTING = """
import json, os, sys
here, opened, calls = os.getcwd(), [], {"upgrades": 0, "builds": []}
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and os.path.dirname(os.path.abspath(arguments[0])) == here:
        opened.append(os.path.basename(arguments[0]))
sys.addaudithook(note)
from netdsl.model import data_shapes, model
from netdsl.net import build
def counted(module, name, note):
    function = getattr(module, name)
    def count(*arguments, **settings):
        note(*arguments)
        return function(*arguments, **settings)
    setattr(module, name, count)
counted(model, "upgrade_net", lambda net: calls.update(upgrades=calls["upgrades"] + 1))
for module in (build, data_shapes):
    counted(module, "infer", lambda graph: calls["builds"].append(graph.phase.name))
from zoo.cli import main
sys.argv = ["zoo", *sys.argv[1:]]
try:
    main()
finally:
    print("COUNTED" + json.dumps({"opened": opened, **calls}))
"""


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    for name in ("train.prototxt", "test.prototxt", "solver.prototxt", "digits_iter_30.caffemodel"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def counts(folder: Path, *words: str) -> tuple[Counter[str], int, Counter[str]]:
    done = subprocess.run([sys.executable, "-c", COUNTING, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.rpartition("COUNTED")[2])
    opened = Counter(name for name in found["opened"] if Path(name).suffix in (".prototxt", ".caffemodel"))
    return opened, found["upgrades"], Counter(found["builds"])


def test_a_check(examples: Path) -> None:
    opened, upgrades, builds = counts(examples, "check", "train.prototxt")
    assert (opened, upgrades, builds) == ({"train.prototxt": 1}, 1, {"TEST": 1, "TRAIN": 1})


def test_a_timing(examples: Path) -> None:
    opened, upgrades, builds = counts(examples, "time", "train.prototxt", "--iterations", "1")
    assert (opened, upgrades, builds) == ({"train.prototxt": 1}, 1, {"TRAIN": 1})


def test_an_export(examples: Path) -> None:
    """The trained net and the one for use are built once each; to be proved, this has memory twice."""
    opened, upgrades, builds = counts(examples, "export", "digits_iter_30.caffemodel", "--to", "onnx", "-o", "net.onnx")
    assert (opened, upgrades, builds) == ({"digits_iter_30.caffemodel": 1}, 1, {"TEST": 4})


def test_a_prediction(examples: Path) -> None:
    opened, upgrades, builds = counts(
        examples, "predict", "digits_iter_30.caffemodel", "digits:test", "--blob", "prob", "-o", "out.csv"
    )
    assert (opened, upgrades) == ({"digits_iter_30.caffemodel": 1}, 1)
    assert builds == {"TEST": 4}  # as trained, for use, what answers, and what the answer is read from


def test_a_training(examples: Path) -> None:
    opened, _, builds = counts(examples, "train", "--solver", "solver.prototxt", "--max-iter", "1")
    assert (opened["train.prototxt"], opened["test.prototxt"], opened["solver.prototxt"]) == (1, 1, 1)
    assert builds == {"TRAIN": 1, "TEST": 1}
