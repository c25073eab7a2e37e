"""`zoo run` with scripts for pycaffe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
sys.path.insert(0, '/home/me/caffe/python')
import caffe
from caffe.proto import caffe_pb2

solver = caffe.SGDSolver('solver.prototxt')
solver.step(2)
print(caffe.__name__, round(float(solver.net.blobs['loss'].data), 4))
"""
NET = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits:train" batch_size: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_script_can_import_caffe_unchanged(tmp_path: Path, workers: int) -> None:
    (tmp_path / "net.prototxt").write_text(NET)
    settings = 'net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 9 snapshot_prefix: "few"'
    (tmp_path / "solver.prototxt").write_text(settings)
    (tmp_path / "train.py").write_text(SCRIPT)
    words = [sys.executable, "-m", "zoo", "run", "--workers", str(workers), "train.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    name, loss = done.stdout.split()
    assert name == "netdsl.pycaffe", done.stderr
    assert float(loss) == pytest.approx(26.112, rel=1e-3)  # the weights begin with zeros
