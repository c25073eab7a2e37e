"""A command opens each file once, upgrades each net once, and builds its layers once for each phase."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl.distributed.run_lease import is_of_lease
from tests.zoo.cli.counted_calls import CallNotes
from tests.zoo.cli.test_finetune import photos

EXAMPLES = Path(__file__).parents[3] / "examples"

MODEL = "digits_iter_30.caffemodel"
COUNTED = Path(__file__).parent / "counted_calls.py"


@dataclass
class Calls:
    """The files that a process read, and the nets that it upgraded and built. `for_use` are nets that begin with an
    input."""

    program: str
    opened: Counter[str]
    upgrades: Counter[str]
    builds: Counter[str]
    for_use: Counter[str]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    for name in ("train.prototxt", "test.prototxt", "solver.prototxt", MODEL):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


@pytest.fixture
def run(zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Calls]:
    """Run a command in this process, and return its calls."""

    def run(*words: str) -> Calls:
        notes = CallNotes(tmp_path)
        with monkeypatch.context() as patch:
            notes.begin(patch.setattr)
            done = zoo(*words)
            notes.end()
        assert done.code == 0, done.err
        return Calls("zoo", **{name: Counter(names) for name, names in notes.found.items()})

    return run


def calls_of_processes(folder: Path, counts: Path, *words: str) -> list[Calls]:
    """Run a command in a folder. Returns the calls of each process, the command's own first."""
    command = [sys.executable, str(COUNTED), str(counts), "zoo", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [json.loads(path.read_text()) for path in counts.iterdir()]
    calls = [Calls(each.pop("program"), **{name: Counter(names) for name, names in each.items()}) for each in found]
    return sorted(calls, key=lambda each: each.program != "zoo")


def settings_and_nets(opened: Counter[str]) -> dict[str, int]:
    """Return the opened files, except data and leases."""
    suffixes = (".prototxt", ".caffemodel", ".json")
    return {name: times for name, times in opened.items() if name.endswith(suffixes) and not is_of_lease(Path(name))}


def test_a_check_opens_and_builds_once(run, examples: Path) -> None:
    calls = run("check", "train.prototxt")
    assert (settings_and_nets(calls.opened), calls.upgrades.total()) == ({"train.prototxt": 1}, 1)
    assert (calls.builds, calls.for_use) == ({"TEST": 1, "TRAIN": 1}, {})


def test_a_timing_opens_and_builds_once(run, examples: Path) -> None:
    calls = run("time", "train.prototxt", "--iterations", "1")
    assert (settings_and_nets(calls.opened), calls.upgrades.total()) == ({"train.prototxt": 1}, 1)
    assert (calls.builds, calls.for_use) == ({"TRAIN": 1}, {})


@pytest.mark.parametrize("target", ["onnx", "torch"])
def test_an_export_opens_and_builds_once(run, examples: Path, target: str) -> None:
    """The layers of the net for use, which is derived from the trained net, are written and run for the proof."""
    calls = run("export", MODEL, "--to", target, "-o", "net.file")
    assert (settings_and_nets(calls.opened), calls.upgrades.total()) == ({MODEL: 1}, 1)
    assert (calls.builds, calls.for_use) == ({"TEST": 1}, {"TEST": 1})


def test_an_export_to_caffe_opens_and_builds_once(run, examples: Path) -> None:
    """For the proof, the written net is opened and built, too."""
    calls = run("export", MODEL, "--to", "caffe", "-o", "files")
    assert calls.opened[MODEL] == 1 and calls.upgrades.total() == 2
    assert (calls.builds, calls.for_use) == ({"TEST": 1}, {"TEST": 2})


def test_a_rewritten_export_builds_each_net_once(run, examples: Path) -> None:
    """Each rewritten net is one more net to build."""
    calls = run("export", MODEL, "--to", "onnx", "-o", "net.onnx", "--fully-convolutional", "--precision", "float16")
    assert (calls.builds, calls.for_use) == ({"TEST": 1}, {"TEST": 3})


def test_a_verification_opens_and_builds_once(run, examples: Path) -> None:
    calls = run("verify", MODEL, MODEL)
    assert (settings_and_nets(calls.opened), calls.upgrades.total()) == ({MODEL: 2}, 2)
    assert (calls.builds, calls.for_use) == ({"TEST": 2}, {"TEST": 2})


def test_a_prediction_opens_and_builds_once(run, examples: Path) -> None:
    """The trained net is built for the shapes of its data, and the net for use answers."""
    calls = run("predict", MODEL, "digits:test", "--blob", "prob", "-o", "out.csv")
    assert (settings_and_nets(calls.opened), calls.upgrades.total()) == ({MODEL: 1}, 1)
    assert (calls.builds, calls.for_use) == ({"TEST": 1}, {"TEST": 1})


@pytest.mark.parametrize("command", ["test", "predict"])
def test_a_prediction_for_a_table_opens_and_builds_once(run, examples: Path, command: str) -> None:
    """The rows have the shapes that were found before, so the layers that were inspected also run."""
    values = {"data": np.zeros((2, 1, 8, 8), np.float32).tolist(), "label": [0.0, 1.0]}
    pq.write_table(pa.table(values), examples / "rows.parquet")
    words = {"test": ["--data", "rows.parquet"], "predict": ["rows.parquet", "-o", "out.parquet"]}[command]
    calls = run(command, "train.prototxt", *words, "--weights", MODEL)
    assert (settings_and_nets(calls.opened), calls.upgrades.total()) == ({"train.prototxt": 1, MODEL: 1}, 1)
    assert (calls.builds, calls.for_use) == ({"TEST": 1}, {})


def test_training_opens_and_builds_once(run, examples: Path) -> None:
    calls = run("train", "--solver", "solver.prototxt", "--max-iter", "1")
    assert settings_and_nets(calls.opened) == {
        "solver.prototxt": 1,
        "train.prototxt": 1,
        "test.prototxt": 1,
        "digits_iter_1.caffemodel": 1,  # it was written, and is read for its hash
    }
    assert calls.upgrades.total() == 2
    assert (calls.builds, calls.for_use) == ({"TRAIN": 1, "TEST": 1}, {})


def test_fine_tuning_with_workers_opens_each_file_once(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command builds the net that it starts from. It builds the net to train with its tests to fit the new head and
    to check that workers can train it, and without them to find the learning rate.
    For the report it builds the part of that net that predicts. It builds the net for use, and builds it again as it
    was written. Workers build the nets that they run."""
    monkeypatch.chdir(tmp_path)
    photos("photos", "ring", "cross")
    words = ("finetune", "shapes", "--data", "photos", "--workers", "2", "--epochs", "1")
    command, *workers = calls_of_processes(tmp_path, tmp_path_factory.mktemp("counts"), *words)
    assert set(settings_and_nets(command.opened).values()) == {1}
    assert command.upgrades.total() == 2  # for the model that it starts from, and for the net that was written
    assert (command.builds, command.for_use) == ({"TEST": 4, "TRAIN": 3}, {"TEST": 2})
    for worker in workers:
        assert set(settings_and_nets(worker.opened).values()) == {1}
        assert worker.upgrades.total() == 1
    testing, training = sorted(workers, key=lambda worker: -worker.builds.total())
    assert (testing.builds, training.builds) == ({"TRAIN": 1, "TEST": 1}, {"TRAIN": 1})
