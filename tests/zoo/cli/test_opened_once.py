"""A command opens each file once, brings each net to today's form once, and builds its layers once for each phase."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.zoo.cli.test_finetune import photos

EXAMPLES = Path(__file__).parents[3] / "examples"

# A program that runs a command and counts: files of the current folder that are opened, and calls of two functions. Of
# nets that are built it also counts those for use, which begin with an input.
COUNTING = """
import json, os, sys
here, opened, calls = os.getcwd(), [], {"upgrades": 0, "builds": [], "for_use": 0}
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
def note_build(graph):
    calls["builds"].append(graph.phase.name)
    calls["for_use"] += graph.nodes[0].layer.type == "Input"
counted(model, "upgrade_net", lambda net: calls.update(upgrades=calls["upgrades"] + 1))
for module in (build, data_shapes):
    counted(module, "infer", note_build)
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


def calls(folder: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", COUNTING, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counted: dict[str, Any] = json.loads(done.stdout.rpartition("COUNTED")[2])
    return counted


def counts(folder: Path, *words: str) -> tuple[Counter[str], int, Counter[str]]:
    found = calls(folder, *words)
    opened = Counter(name for name in found["opened"] if Path(name).suffix in (".prototxt", ".caffemodel"))
    return opened, found["upgrades"], Counter(found["builds"])


def test_a_check(examples: Path) -> None:
    opened, upgrades, builds = counts(examples, "check", "train.prototxt")
    assert (opened, upgrades, builds) == ({"train.prototxt": 1}, 1, {"TEST": 1, "TRAIN": 1})


def test_a_timing(examples: Path) -> None:
    opened, upgrades, builds = counts(examples, "time", "train.prototxt", "--iterations", "1")
    assert (opened, upgrades, builds) == ({"train.prototxt": 1}, 1, {"TRAIN": 1})


@pytest.mark.parametrize("target", ["onnx", "torch"])
def test_an_export(examples: Path, target: str) -> None:
    """The layers of the net for use, which follows from the trained one, are written and run to be proved."""
    opened, upgrades, builds = counts(examples, "export", "digits_iter_30.caffemodel", "--to", target, "-o", "net.file")
    assert (opened, upgrades, builds) == ({"digits_iter_30.caffemodel": 1}, 1, {"TEST": 2})


def test_an_export_to_caffe(examples: Path) -> None:
    """To be proved, the written net is opened and built, too."""
    opened, upgrades, builds = counts(examples, "export", "digits_iter_30.caffemodel", "--to", "caffe", "-o", "files")
    assert (opened, upgrades, builds) == ({"digits_iter_30.caffemodel": 1}, 2, {"TEST": 3})


def test_a_rewritten_export(examples: Path) -> None:
    """Each rewritten net is one more."""
    words = ("--to", "onnx", "-o", "net.onnx", "--fully-convolutional", "--precision", "float16")
    _, _, builds = counts(examples, "export", "digits_iter_30.caffemodel", *words)
    assert builds == {"TEST": 4}


def test_a_verification(examples: Path) -> None:
    model = "digits_iter_30.caffemodel"
    opened, upgrades, builds = counts(examples, "verify", model, model)
    assert (opened, upgrades, builds) == ({model: 2}, 2, {"TEST": 4})  # of each as trained, and for use


def test_what_a_fine_tuning_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net for use is built once for both exports; the one that is written for Caffe is built to be proved."""
    monkeypatch.chdir(tmp_path)
    photos("photos", "ring", "cross")
    assert calls(tmp_path, "finetune", "shapes", "--data", "photos", "--epochs", "1")["for_use"] == 2
    assert Path("shapes_tuned/model.onnx").is_file()


def test_a_prediction(examples: Path) -> None:
    opened, upgrades, builds = counts(
        examples, "predict", "digits_iter_30.caffemodel", "digits:test", "--blob", "prob", "-o", "out.csv"
    )
    assert (opened, upgrades) == ({"digits_iter_30.caffemodel": 1}, 1)
    assert builds == {"TEST": 2}  # as trained, for the shapes of data, and for use, which answers


@pytest.mark.parametrize("command", ["test", "predict"])
def test_rows_of_a_table(examples: Path, command: str) -> None:
    """The rows have the shapes that were found before, so the layers that were asked about them also run."""
    values = {"data": np.zeros((2, 1, 8, 8), np.float32).tolist(), "label": [0.0, 1.0]}
    pq.write_table(pa.table(values), examples / "rows.parquet")
    words = {"test": ["--data", "rows.parquet"], "predict": ["rows.parquet", "-o", "out.parquet"]}[command]
    opened, upgrades, builds = counts(
        examples, command, "train.prototxt", *words, "--weights", "digits_iter_30.caffemodel"
    )
    assert (opened, upgrades) == ({"train.prototxt": 1, "digits_iter_30.caffemodel": 1}, 1)
    assert builds == {"TEST": 1}


def test_a_training(examples: Path) -> None:
    opened, _, builds = counts(examples, "train", "--solver", "solver.prototxt", "--max-iter", "1")
    assert (opened["train.prototxt"], opened["test.prototxt"], opened["solver.prototxt"]) == (1, 1, 1)
    assert builds == {"TRAIN": 1, "TEST": 1}
