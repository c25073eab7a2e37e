"""`--allow-python`: the commands that run a net with Python layers, and what they refuse to run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl.layers import python

CODE = """
import caffe
from factor_of_layers import FACTOR

class Times(caffe.Layer):
    def setup(self, bottom, top):
        self.factor = {"": FACTOR}[self.param_str]
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        top[0].data[...] = self.factor * bottom[0].data
    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = self.factor * top[0].diff
"""
NET = """
layer { name: "data" type: "Input" top: "data" top: "label"
  input_param { shape { dim: [4, 3] } shape { dim: 4 } } }
layer { name: "times" type: "Python" bottom: "data" top: "times"
  python_param { module: "layers_in_this_folder" layer: "Times" } }
layer { name: "ip" type: "InnerProduct" bottom: "times" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 4 display: 2 snapshot_prefix: "times"'
ALLOWED = "--allow-python", "layers_in_this_folder,factor_of_layers"
TRAIN = "train", "--solver", "solver.prototxt", "--data", "parquet:rows.parquet"


@pytest.fixture(autouse=True)
def folder(zoo):
    """Write a net whose layer is in the current folder, which isn't on Python's path, and data for it."""
    Path("layers_in_this_folder.py").write_text(CODE)
    Path("factor_of_layers.py").write_text("FACTOR = 2")
    Path("net.prototxt").write_text(NET)
    Path("solver.prototxt").write_text(SOLVER)
    rows = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    pq.write_table(pa.table({"data": list(rows), "label": (rows[:, 0] > 0).astype(int)}), "rows.parquet")
    yield
    for name in ("layers_in_this_folder", "factor_of_layers"):
        sys.modules.pop(name, None)


def trained(zoo) -> str:
    assert zoo(*TRAIN, *ALLOWED).code == 0
    return "times_iter_4.caffemodel"


def test_code_runs_only_if_it_is_allowed(zoo) -> None:
    code, _, err = zoo(*TRAIN)
    assert code == 2
    assert "layer 'times': the layer runs Python code from module 'layers_in_this_folder'" in err
    assert "`--allow-python layers_in_this_folder`" in err
    assert "layers_in_this_folder" not in sys.modules
    weights = trained(zoo)
    assert not python.allowed  # for one command only
    assert zoo("test", "net.prototxt", "--weights", weights, "--data", "parquet:rows.parquet").code == 2


def test_every_module_is_allowed_by_its_own_name(zoo) -> None:
    code, _, err = zoo(*TRAIN, "--allow-python", "layers_in_this_folder")
    assert code == 2
    assert "No module named 'factor_of_layers'; install factor_of_layers, or if it is in the current folder" in err
    repeated = [word for name in ALLOWED[1].split(",") for word in ("--allow-python", name)]
    assert zoo(*TRAIN, *repeated).code == 0


def test_every_command_that_runs_a_net_can_allow_code(zoo) -> None:
    weights = trained(zoo)
    model = "net.prototxt", "--weights", weights
    table = "rows.parquet"
    for words in (
        ("test", *model, "--data", "parquet:rows.parquet"),
        ("time", *model, "--iterations", "1"),
        ("predict", *model, table, "-o", "predicted.parquet"),
        ("features", *model, table, "--blob", "times", "-o", "features.parquet"),
        ("export", *model, "--to", "caffe", "-o", "exported"),
        ("verify", f"net.prototxt,{weights}", f"net.prototxt,{weights}"),
        ("check", "--run", "net.prototxt"),
        ("show", "--shapes", "net.prototxt"),
        ("import", "--as-dsl", "net.prototxt", "-o", "net.py"),
        ("convert", weights, "weights.npz", "--net", "net.prototxt"),
    ):
        code, _, err = zoo(*words, *ALLOWED)
        assert (words[0], code, err) == (words[0], 0, "")
    times = np.array(pq.read_table("features.parquet")["times"].to_pylist())
    assert np.array_equal(times, 2 * np.array(pq.read_table("rows.parquet")["data"].to_pylist(), np.float32))


def test_workers_allow_the_modules_that_their_command_allows(zoo) -> None:
    several = "--workers", "2", "--strategy", "averaging:tau=2", "--run", "run"
    code, _, err = zoo(*TRAIN, *several)
    assert code == 2 and "`--allow-python layers_in_this_folder`" in err and not Path("run").exists()
    code, _, err = zoo(*TRAIN, *several, *ALLOWED)
    assert (code, err) == (0, "")
    Path("run/model.caffemodel").unlink()
    code, _, err = zoo("train", "--resume", "run")  # a run's folder doesn't allow anything
    assert code == 2 and "`--allow-python layers_in_this_folder`" in err
    assert zoo("train", "--resume", "run", *ALLOWED).code == 0
    assert Path("run/times_iter_4.caffemodel").exists() and Path("run/model.caffemodel").exists()


@pytest.mark.spark
def test_spark_tasks_allow_the_modules_that_their_command_allows(zoo) -> None:
    def on_spark(*words: str) -> subprocess.CompletedProcess[str]:
        command = [Path(sys.executable).with_name("zoo"), *words, "--backend", "spark", "--workers", "2"]
        return subprocess.run(command, capture_output=True, text=True)

    several = *TRAIN, "--strategy", "averaging:tau=2", "--run", "run"
    refused = on_spark(*several)
    assert refused.returncode == 2 and "`--allow-python layers_in_this_folder`" in refused.stderr
    assert not Path("run").exists()
    assert on_spark(*several, *ALLOWED).returncode == 0
    features = "features", "net.prototxt", "--weights", "run/model.caffemodel", "rows.parquet"
    assert on_spark(*features, "--blob", "times", "-o", "features", *ALLOWED).returncode == 0
    times = np.array(pq.read_table("features")["times"].to_pylist())
    assert np.array_equal(times, 2 * np.array(pq.read_table("rows.parquet")["data"].to_pylist(), np.float32))


def test_the_caffe_program_has_a_flag_to_allow_modules(zoo) -> None:
    words = "caffe", "time", "-model", "net.prototxt", "-iterations", "1"
    assert "`--allow-python layers_in_this_folder`" in zoo(*words).err
    assert zoo(*words, f"-allow_python={ALLOWED[1]}").code == 0


def test_an_error_in_the_code_is_reported_in_one_line(zoo) -> None:
    Path("net.prototxt").write_text(NET.replace('layer: "Times"', 'layer: "Times" param_str: "x"'))
    told = "layer 'times' (layers_in_this_folder.Times), layers_in_this_folder.py:7: KeyError: 'x'"
    assert zoo(*TRAIN, *ALLOWED) == (2, "", f"zoo: {told}\n")
    assert zoo("check", "net.prototxt", *ALLOWED) == (1, f"net.prototxt: {told}\n", "")
    code, _, err = zoo(*TRAIN, *ALLOWED, "--workers", "2", "--run", "run")
    assert code == 2 and err.endswith(f"{told}\n") and len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["a/b", "", "a,,b", "../a"])
def test_an_invalid_module_name_is_refused(zoo, name: str) -> None:
    code, _, err = zoo("check", "net.prototxt", "--allow-python", name)
    assert code == 2 and "isn't the name of a module; give a name such as voc_layers" in err
