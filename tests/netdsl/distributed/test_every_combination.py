"""Every strategy by every launcher over every transport: all come to an end, and synchronous ones to the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from netdsl.distributed.launchers.local import LocalLauncher
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.distributed.supervision.retries import End
from netdsl.distributed.supervision.supervisor import train
from netdsl.distributed.transports.transport import Transport
from netdsl.mpi.mpiexec import MpiexecLauncher
from netdsl.weights.match import arrays_of
from tests.netdsl.distributed.conftest import Simulate
from tests.patience import PATIENCE

STEPS = {"averaging": "tau=3", "outer": "tau=3", "allreduce": "tau=3", "elastic-sync": "tau=3", "elastic": "tau=3"}
LINES = [f"{name}:{STEPS.get(name, '')}" for name in STRATEGIES]
TRANSPORTS = [Transport.SHARED_MEMORY, Transport.GLOO]
EXTERNAL = Path(__file__).with_name("launchers") / "external_worker.py"


def begin(param: pb.SolverParameter, folder: Path, strategy: str, transport: Transport, size: int = 2) -> Path:
    Run(param, parse(strategy), size, transport=transport, deadline=PATIENCE).settled().save(folder)
    return folder


def blobs_of(folder: Path) -> list[np.ndarray]:
    return [blob for blobs in arrays_of(read_net(folder / MODEL)).values() for blob in blobs]


def check_bits(folder: Path, strategy: str, simulate: Simulate, size: int = 2) -> None:
    """The model is there; that of a synchronous strategy has the bits of the simulated workers'."""
    blobs = blobs_of(folder)
    assert blobs
    if parse(strategy).synchronous:
        weights = simulate(strategy, size).weights[0].numpy().tobytes()  # in which blobs lie with gaps between them
        assert all(blob.tobytes() in weights for blob in blobs)


@pytest.mark.parametrize(("strategy", "transport"), [*product(LINES, TRANSPORTS)])
def test_local(param, run: Simulate, tmp_path: Path, strategy: str, transport: Transport) -> None:
    folder = begin(param, tmp_path / "run", strategy, transport)
    assert train(folder, LocalLauncher()) is End.FINISHED
    check_bits(folder, strategy, run)


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("strategy", LINES)
def test_mpi(param, run: Simulate, tmp_path: Path, strategy: str, size: int) -> None:
    """With ranks that mpiexec starts."""
    param.net_param.layer[0].data_param.batch_size = 8  # which both numbers divide
    folder = begin(param, tmp_path / "run", strategy, Transport.MPI, size)
    assert train(folder, MpiexecLauncher()) is End.FINISHED
    check_bits(folder, strategy, run, size)


def test_external(param, run: Simulate, tmp_path: Path) -> None:
    """Under torchrun; the same two processes take part in all runs, one after the other."""
    cases = [*product(LINES, TRANSPORTS)]
    folders = [begin(param, tmp_path / f"run{number}", *case) for number, case in enumerate(cases)]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(EXTERNAL)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    for folder, (strategy, _) in zip(folders, cases, strict=True):
        check_bits(folder, strategy, run)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("strategy", LINES)
def test_nccl(param, tmp_path: Path, strategy: str) -> None:
    folder = tmp_path / "run"
    devices = (torch.device("cuda:0"), torch.device("cuda:1"))
    Run(param, parse(strategy), 2, devices=devices, transport=Transport.NCCL).settled().save(folder)
    assert train(folder, LocalLauncher()) is End.FINISHED
    assert blobs_of(folder)


@pytest.mark.parametrize("strategy", ["averaging:tau=3", "allreduce:tau=3", "outer:tau=3", "elastic-sync:tau=3"])
def test_three_workers(param, run: Simulate, tmp_path: Path, strategy: str) -> None:
    """Sums of three have an order, which is the same everywhere."""
    folder = tmp_path / "run"
    Run(param, parse(strategy), 3, transport=Transport.GLOO).settled().save(folder)
    assert train(folder, LocalLauncher()) is End.FINISHED
    weights = run(strategy, 3).weights[0].numpy().tobytes()
    assert all(blob.tobytes() in weights for blob in blobs_of(folder))
