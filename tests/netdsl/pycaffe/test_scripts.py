"""Scripts with their own layers: which of their modules a net may name without permission."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import netdsl

LAYERS = """
import caffe

class Double(caffe.Layer):
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top): top[0].data[...] = 2 * bottom[0].data
"""
NET = """
input: "x" input_shape { dim: 3 }
layer { name: "y" type: "Python" bottom: "x" top: "y" python_param { module: "%s" layer: "Double" } }
"""
RUN = """
import sys
import netdsl.pycaffe as caffe
%s
net = caffe.Net(sys.argv[1], caffe.TEST)
print(net.forward(x=[1.0, 2.0, 3.0])["y"].tolist())
"""


@pytest.fixture
def run(tmp_path: Path):
    """Run a script from another folder, on a net that names a module."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "downloaded").mkdir()

    def run(module: str, more: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "scripts/script.py").write_text(RUN % more)
        (tmp_path / "downloaded/net.prototxt").write_text(NET % module)
        packages = [str(Path(netdsl.__file__).parents[1]), str(tmp_path / "installed")]
        return subprocess.run(
            [sys.executable, tmp_path / "scripts/script.py", "net.prototxt"],
            cwd=tmp_path / "downloaded",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(packages), "OMP_NUM_THREADS": "1"} | environment,
            capture_output=True,
            text=True,
        )

    return run


def test_a_module_next_to_the_script_is_allowed(run, tmp_path: Path) -> None:
    (tmp_path / "scripts/beside_layers.py").write_text(LAYERS)
    assert run("beside_layers").stdout == "[2.0, 4.0, 6.0]\n"


def test_the_script_itself_is_allowed(run) -> None:
    assert run("__main__", LAYERS).stdout == "[2.0, 4.0, 6.0]\n"


def test_an_installed_module_is_allowed_if_the_script_imports_it(run, tmp_path: Path) -> None:
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed/installed_layers.py").write_text(LAYERS)
    assert "allow it with" in run("installed_layers").stderr
    assert run("installed_layers", "import installed_layers").stdout == "[2.0, 4.0, 6.0]\n"


def test_a_module_next_to_a_downloaded_net_is_not_allowed(run, tmp_path: Path) -> None:
    (tmp_path / "downloaded/strange_layers.py").write_text("open('it_ran', 'w')\n" + LAYERS)
    assert "runs Python code from module 'strange_layers'" in run("strange_layers").stderr
    assert not (tmp_path / "downloaded/it_ran").exists()


def test_a_module_without_layers_is_not_run_though_it_is_loaded(run) -> None:
    assert "runs Python code from module 'subprocess'" in run("subprocess", "import subprocess").stderr


def test_a_solver_logs_to_standard_error(run, tmp_path: Path) -> None:
    net = """
        layer { name: "d" type: "DummyData" top: "x" dummy_data_param { shape { dim: [2, 3] } } }
        layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 1 } }
        layer { name: "sum" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }
    """
    (tmp_path / "downloaded/train.prototxt").write_text(net)
    (tmp_path / "downloaded/solver.prototxt").write_text(
        'net: "train.prototxt" base_lr: 1 lr_policy: "fixed" max_iter: 2 display: 1 snapshot_after_train: false'
    )
    (tmp_path / "scripts/beside_layers.py").write_text(LAYERS)
    solve = "caffe.SGDSolver('solver.prototxt').solve()"
    lines = run("beside_layers", solve).stderr.splitlines()
    assert all(re.match(r"I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.cpp:\d+\] ", line) for line in lines)
    assert lines[0].endswith("] Solving ") and lines[-1].endswith("] Optimization Done.")
    assert run("beside_layers", f"caffe.init_log(1); {solve}").stderr == ""
    assert run("beside_layers", solve, GLOG_minloglevel="1").stderr == ""
