"""The contract of training in processes: workers of the local launcher, MPI ranks and Spark tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caffe_proto.files import read_net
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.distributed.run_log import EVENTS, read_moments
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.transports.transport import Transport
from netdsl.model.weights.match import arrays_of
from netdsl.mpi.installation import SETTINGS, mpiexec
from tests.netdsl.distributed.contract import ITEMS, LINES, PYTHON_LAYER, TIMED, Contract, write_items

SCRIPT = Path(__file__).with_name("contract_workers.py")
ROOT = Path(__file__).parents[3]
TRANSPORTS = {"local": Transport.SHARED_MEMORY, "mpi": Transport.MPI, "spark": Transport.GLOO}
SOON = [line if line != TIMED else "averaging:seconds=0.02" for line in LINES]


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with PYTHON_LAYERS.allowing(PYTHON_LAYER):
        yield


def trained(folder: Path, launcher: str, workers: int, strategies: list[str]) -> list[Contract]:
    """Train with each strategy, all in one process of the launcher."""
    contracts, folders = [Contract(folder, strategy, workers) for strategy in strategies], list[Path]()
    for contract in contracts:
        folders.append(folder / f"run_{contract.name}")
        replace(contract.run(), transport=TRANSPORTS[launcher]).save(folders[-1])
    ranks = [mpiexec(), "-n", str(workers)] if launcher == "mpi" else []
    environment = {**SETTINGS, **os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [*ranks, sys.executable, str(SCRIPT), launcher, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    for contract, run in zip(contracts, folders, strict=True):
        contract.check([moment.iteration for moment in read_moments(run / EVENTS) if moment.tested])
        assert contract.snapshots() == contract.ends_of_epochs()
    return contracts


LAUNCHED = [
    pytest.param("local", 1, SOON, marks=pytest.mark.slow),
    ("local", 2, ["averaging:tau=50", "elastic:tau=50", "mpca:tau=50"]),
    pytest.param("local", 2, SOON, marks=pytest.mark.slow),
    pytest.param("local", 3, SOON, marks=pytest.mark.slow),
    pytest.param("mpi", 1, SOON, marks=pytest.mark.slow),
    ("mpi", 2, SOON),
    pytest.param("mpi", 3, SOON, marks=pytest.mark.slow),
    *(pytest.param("spark", workers, SOON, marks=pytest.mark.spark) for workers in (1, 2, 3)),
]


@pytest.mark.parametrize(("launcher", "workers", "strategies"), LAUNCHED)
def test_items_tests_and_snapshots_follow_the_contract(
    tmp_path: Path, launcher: str, workers: int, strategies: list[str]
) -> None:
    write_items(tmp_path, ITEMS)
    trained(tmp_path, launcher, workers, strategies)


def blobs_of(contract: Contract) -> list[np.ndarray]:
    model = read_net(contract.folder / f"run_{contract.name}" / MODEL)
    return [blob for blobs in arrays_of(model).values() for blob in blobs]


@pytest.mark.slow  # simulated workers show the same
def test_workers_that_divide_a_batch_equal_one_worker(tmp_path: Path) -> None:
    write_items(tmp_path, ITEMS)
    alone, *others = [blobs_of(*trained(tmp_path, "local", workers, ["allreduce"])) for workers in (1, 2, 3)]
    for blobs in others:
        for one, other in zip(alone, blobs, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)  # sums of 6 gradients in another order
