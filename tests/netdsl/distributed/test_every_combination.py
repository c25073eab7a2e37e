"""Every strategy with every launcher over every transport: all finish, and synchronous ones with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
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
from netdsl.distributed.supervisor import End, train
from netdsl.distributed.transports.transport import Transport
from netdsl.model.weights.match import arrays_of
from netdsl.mpi.installation import SETTINGS, mpiexec
from netdsl.solver.settings import open_settings
from tests.netdsl.distributed.conftest import Simulate
from tests.patience import PATIENCE

STEPS = {"averaging": "tau=3", "outer": "tau=3", "allreduce": "tau=3", "elastic-sync": "tau=3", "elastic": "tau=3"}
LINES = [f"{name}:{STEPS.get(name, '')}" for name in STRATEGIES]
LOCAL = ["averaging:tau=3", "elastic:tau=3", "mpca:"]  # one that waits for others, one that doesn't, one with lanes
TRANSPORTS = [Transport.SHARED_MEMORY, Transport.GLOO]
SYNCHRONOUS = [line for line in LINES if parse(line).synchronous]
EXTERNAL, RANK = (Path(__file__).with_name("launchers") / name for name in ("external_worker.py", "mpi_rank.py"))
ROOT = Path(__file__).parents[3]


def begin(param: pb.SolverParameter, folder: Path, strategy: str, transport: Transport, size: int = 2) -> Path:
    Run(open_settings(param), parse(strategy), size, transport=transport, deadline=PATIENCE).settled().save(folder)
    return folder


def blobs_of(folder: Path) -> list[np.ndarray]:
    return [blob for blobs in arrays_of(read_net(folder / MODEL)).values() for blob in blobs]


def check_bits(folder: Path, strategy: str, simulate: Simulate, size: int = 2) -> None:
    """Check that the model exists, and that a synchronous strategy's bits equal those of simulated workers."""
    blobs = blobs_of(folder)
    assert blobs
    if parse(strategy).synchronous:
        weights = simulate(strategy, size).weights[0].numpy().tobytes()  # with gaps between the blobs
        assert all(blob.tobytes() in weights for blob in blobs)


# Strategies use transports in the same way in torchrun's processes, which test all of them in less time.
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "strategy", [line if line in LOCAL else pytest.param(line, marks=pytest.mark.slow) for line in LINES]
)
def test_the_local_launcher_runs_every_strategy(
    param, run: Simulate, tmp_path: Path, strategy: str, transport: Transport
) -> None:
    folder = begin(param, tmp_path / "run", strategy, transport)
    assert train(folder, LocalLauncher()) is End.FINISHED
    check_bits(folder, strategy, run)


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_mpiexec_runs_every_strategy(param, run: Simulate, tmp_path: Path, size: int) -> None:
    """Train under mpiexec. The same ranks take part in all runs, one after the other."""
    param.net_param.layer[0].data_param.batch_size = 8  # both numbers of workers divide this
    folders = [begin(param, tmp_path / f"run{number}", line, Transport.MPI, size) for number, line in enumerate(LINES)]
    start([mpiexec(), "-n", str(size), sys.executable, str(RANK)], folders, SETTINGS)
    for folder, strategy in zip(folders, LINES, strict=True):
        check_bits(folder, strategy, run, size)


@pytest.mark.parametrize(
    ("size", "cases"),
    [
        pytest.param(2, [*product(LINES, TRANSPORTS)], id="two"),
        # The sum of three values depends on their order.
        pytest.param(3, [*product(SYNCHRONOUS, [Transport.GLOO])], id="three", marks=pytest.mark.slow),
    ],
)
def test_the_external_launcher_runs_every_strategy(
    param, run: Simulate, tmp_path: Path, size: int, cases: list[tuple[str, Transport]]
) -> None:
    """Train under torchrun. The same processes take part in all runs, one after the other."""
    folders = [begin(param, tmp_path / f"run{number}", *case, size) for number, case in enumerate(cases)]
    start([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size), str(EXTERNAL)], folders)
    for folder, (strategy, _) in zip(folders, cases, strict=True):
        check_bits(folder, strategy, run, size)


def start(command: list[str], folders: list[Path], settings: Mapping[str, str] | None = None) -> None:
    """Run a command whose processes train in folders."""
    environment = {**(settings or {}), **os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("strategy", LINES)
def test_nccl_runs_every_strategy(param, tmp_path: Path, strategy: str) -> None:
    folder = tmp_path / "run"
    devices = (torch.device("cuda:0"), torch.device("cuda:1"))
    Run(open_settings(param), parse(strategy), 2, devices=devices, transport=Transport.NCCL).settled().save(folder)
    assert train(folder, LocalLauncher()) is End.FINISHED
    assert blobs_of(folder)
