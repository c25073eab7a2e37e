"""`zoo adopt`: old Caffe projects as a whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

NET = """
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 mean_file: "MEAN" }
        data_param { source: "DATA" batch_size: 2 backend: LMDB } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "PLACE/models/net.prototxt"
base_lr: 0.1 lr_policy: "fixed" max_iter: 2 display: 1
snapshot_prefix: "PLACE/models/saved/few"
solver_mode: GPU
"""
SCRIPT = """#!/usr/bin/env sh
set -e
TOOLS=CAFFE/build/tools
$TOOLS/convert_imageset --resize_height=4 --resize_width=4 images/ list.txt train_lmdb
$TOOLS/compute_image_mean train_lmdb mean.binaryproto
$TOOLS/caffe train --solver=models/solver.prototxt --gpu 0 2>&1 | tee train.log
"""
TRAIN = "import sys\nsys.path.insert(0, '/old/caffe/python')\nimport caffe\ncaffe.set_mode_gpu()\n"
TRAIN += "solver = caffe.SGDSolver('models/solver.prototxt')\nsolver.step(2)\nprint('done', solver.iter)\n"


def write_project(place: str, caffe: str) -> None:
    """Write a project whose files name the folder `place`, and whose script names the folder of a Caffe."""
    Path("project/models").mkdir(parents=True)
    Path("project/images").mkdir()
    for number in range(4):
        image = np.full((6, 6, 3), 60 * number, np.uint8)
        assert cv2.imwrite(f"project/images/{number}.png", image)
    Path("project/list.txt").write_text("".join(f"{number}.png {number % 2}\n" for number in range(4)))
    net = NET.replace("MEAN", f"{place}/mean.binaryproto").replace("DATA", f"{place}/train_lmdb")
    Path("project/models/net.prototxt").write_text(net)
    Path("project/models/solver.prototxt").write_text(SOLVER.replace("PLACE", place))
    Path("project/run.sh").write_text(SCRIPT.replace("CAFFE", caffe))
    Path("project/train.py").write_text(TRAIN)


def run_in_project(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd="project", env={**os.environ, **variables}, capture_output=True, text=True)


def test_scripts_run_unchanged_with_a_caffe_folder(zoo, tmp_path: Path) -> None:
    write_project(".", str(tmp_path / "caffe"))
    code, out, err = zoo("adopt", "project", "--caffe-folder", "caffe")
    assert (code, err) == (1, "")  # the database and the mean are missing
    assert "project: 1 solver, 1 net, 1 list, 1 shell script, 1 Python script" in out
    assert not Path("project.patch").exists()
    done = run_in_project("sh", "run.sh")
    assert done.returncode == 0, done.stderr
    assert "Optimization Done." in done.stdout and "-gpu 0 means the CPU" in done.stdout
    assert Path("project/models/saved/few_iter_2.caffemodel").exists()
    done = run_in_project(
        sys.executable,
        "train.py",
        PYTHONPATH=os.pathsep.join([f"{tmp_path}/caffe/python", os.environ.get("PYTHONPATH", "")]),
    )
    assert done.stdout == "done 2\n", done.stderr
    code, out, err = zoo("adopt", "project", "--caffe-folder", "caffe")
    assert (code, err) == (0, "") and "To train:\n  cd project && zoo train --solver models/solver.prototxt" in out


def test_paths_of_another_machine_become_a_patch_and_a_link(zoo) -> None:
    write_project("/old/home/work", "/old/caffe")
    before = {path: path.read_bytes() for path in Path("project").rglob("*") if path.is_file()}
    code, out, err = zoo("adopt", "project")
    assert (code, err) == (1, "")
    assert "project.patch changes 4 lines in 2 files:" in out
    root = Path("project").resolve()
    assert f"  mkdir -p /old/home && ln -s {root} /old/home/work" in out.splitlines()
    assert "  mkdir -p /old && ln -s ~/caffe /old/caffe" in out.splitlines()
    assert {path: path.read_bytes() for path in Path("project").rglob("*") if path.is_file()} == before
    assert subprocess.run(["patch", "-p1", "-s", "-i", "../project.patch"], cwd="project").returncode == 0
    assert 'net: "models/net.prototxt"' in Path("project/models/solver.prototxt").read_text()
    code, out, _ = zoo("adopt", "project", "--json")
    (solver,) = json.loads(out)["solvers"]
    assert [link["reason"] for link in solver["chain"] if link["reason"]] == [
        "models/net.prototxt:2: layer 'data': mean.binaryproto: No such file or directory",
        "models/net.prototxt:2: layer 'data': train_lmdb: there is no such folder; name an LMDB",
    ]
    assert (solver["folder"], solver["scripts"], json.loads(out)["edits"]) == (".", ["run.sh", "train.py"], {})


def test_nothing_of_a_project_is_run_and_its_layers_must_be_allowed(zoo) -> None:
    Path("project").mkdir()
    Path("project/mine.py").write_text("open('was_run', 'w')\nimport caffe\nclass Mine(caffe.Layer): pass\n")
    layer = 'layer { name: "mine" type: "Python" top: "x" python_param { module: "mine" layer: "Mine" } }'
    Path("project/net.prototxt").write_text(layer)
    Path("project/solver.prototxt").write_text('net: "net.prototxt" base_lr: 1 lr_policy: "fixed" max_iter: 1')
    Path("project/go.sh").write_text("$CAFFE_ROOT/build/tools/caffe train -solver solver.prototxt\n")
    code, out, err = zoo("adopt", "project")
    assert (code, err) == (0, "") and not list(Path().rglob("was_run"))
    assert "the net needs the Python code of mine.Mine; if you trust it, give --allow-python mine" in out
    assert "  cd project && zoo train --solver solver.prototxt --allow-python mine" in out.splitlines()
    assert {"  export CAFFE_ROOT=~/caffe", "  export NETDSL_ALLOW_PYTHON=mine"} <= set(out.splitlines())


def test_missing_and_old_scripts_are_reported(zoo) -> None:
    Path("project").mkdir()
    Path("project/solver_good.prototxt").write_text('net: "gone.prototxt" base_lr: 1 lr_policy: "fixed" max_iter: 1')
    Path("project/train.py").write_text("import caffe\nprint 'training'\ncaffe.SGDSolver('solver.prototxt').solve()\n")
    code, out, _ = zoo("adopt", "project", "-o", "few.patch")
    assert code == 1 and "the file 'gone.prototxt' doesn't exist" in out
    assert "missing: solver.prototxt (did you mean solver_good.prototxt?)" in out
    assert "+print('training')" in Path("few.patch").read_text().splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone"], "gone: there is no such folder; name the folder that contains the project's scripts and solvers"),
        (["full", "--caffe-folder", "full"], "full: the folder isn't empty, and this command didn't write it"),
    ],
)
def test_wrong_folders_are_refused(zoo, words: list[str], message: str) -> None:
    Path("full").mkdir()
    Path("full/file").write_text("")
    code, _, err = zoo("adopt", *words)
    assert code == 2 and message in err
