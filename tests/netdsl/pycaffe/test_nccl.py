"""Scripts that start a solver for each GPU, as Caffe's own does. They also run on machines without GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from caffe_proto.files import read_net
from netdsl import pycaffe
from netdsl.errors import NetError
from netdsl.model.weights.match import arrays_of
from netdsl.pycaffe.process import check_gpu

NET = """
layer { name: "data" type: "Data" top: "data" top: "label"
  data_param { source: "digits:train" batch_size: %d } transform_param { scale: 0.00390625 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" momentum: 0.9 iter_size: 2 clip_gradients: 2 max_iter: 5
random_seed: 3 snapshot: 5 snapshot_prefix: "solvers"
"""
SCRIPT = """
import os, sys
from multiprocessing import Process

import netdsl.pycaffe
import caffe

def train(gpus, fails):
    uid = caffe.NCCL.new_uid()
    processes = [Process(target=solve, args=(gpus, uid, rank, fails)) for rank in range(len(gpus))]
    for process in processes:
        process.daemon = True
        process.start()
    for process in processes:
        process.join()
    print(*[process.exitcode for process in processes])

def solve(gpus, uid, rank, fails):
    caffe.set_mode_gpu()
    caffe.set_device(gpus[rank])
    caffe.set_solver_count(len(gpus))
    caffe.set_solver_rank(rank)
    caffe.set_multiprocess(True)
    solver = caffe.SGDSolver("solver.prototxt")
    nccl = caffe.NCCL(solver, uid)
    nccl.bcast()
    solver.add_callback(nccl)
    if solver.param.layer_wise_reduce:
        solver.net.after_backward(nccl)
    if rank == fails:
        os._exit(7)
    solver.step(solver.param.max_iter)
    solver.net.save(f"solver{rank}.caffemodel")

if __name__ == "__main__":
    train(list(range(int(sys.argv[1]))), int(sys.argv[2]))
"""


def train(folder: Path, solvers: int, batch: int, fails: int = -1) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    (folder / "net.prototxt").write_text(NET % batch)
    (folder / "solver.prototxt").write_text(SOLVER)
    (folder / "script.py").write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, "script.py", str(solvers), str(fails)],
        cwd=folder,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
    )


def blobs_of(path: Path) -> list[np.ndarray]:
    return [blob for blobs in arrays_of(read_net(path)).values() for blob in blobs]


def test_two_solvers_learn_the_same_as_one_with_twice_the_batch(tmp_path: Path) -> None:
    two, one = tmp_path / "two", tmp_path / "one"
    done = train(two, solvers=2, batch=8)
    assert done.stdout == "0 0\n", done.stderr
    assert "torch sees no GPU here, so set_mode_gpu() means the CPU" in done.stderr
    assert train(one, solvers=1, batch=16).stdout == "0\n"
    assert (two / "solver0.caffemodel").read_bytes() == (two / "solver1.caffemodel").read_bytes()
    for mean, whole in zip(blobs_of(two / "solver0.caffemodel"), blobs_of(one / "solver0.caffemodel"), strict=True):
        np.testing.assert_allclose(mean, whole, rtol=1e-3, atol=1e-5)  # two sums of 8 gradients, or one of 16
    assert done.stderr.count("Snapshotting to binary proto file") == 1


def test_a_solver_that_ends_ends_the_others(tmp_path: Path) -> None:
    done = train(tmp_path / "lost", solvers=2, batch=8, fails=1)
    assert done.stdout == "1 7\n"
    assert "PeerLostError: solver 1 has ended" in done.stderr


def test_a_uid_must_come_from_new_uid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.prototxt").write_text(NET % 8)
    Path("solver.prototxt").write_text(SOLVER)
    with pytest.raises(NetError, match=r"create one with NCCL.new_uid\(\)"):
        pycaffe.NCCL(pycaffe.SGDSolver("solver.prototxt"), b"uid")


def test_a_requested_gpu_must_exist_on_machines_with_gpus() -> None:
    check_gpu(1, count=2)
    check_gpu(1, count=0)
    with pytest.raises(NetError, match="there is no GPU 2; use one from 0 to 1"):
        check_gpu(2, count=2)
