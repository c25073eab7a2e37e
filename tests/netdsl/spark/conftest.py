"""One Spark for all tests, with two executors that are separate processes."""

from __future__ import annotations

import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.transports.transport import Transport
from netdsl.model.weights.match import arrays_of
from netdsl.solver.events import WorkersRestarted
from netdsl.solver.settings import open_settings
from netdsl.spark.session import SETTINGS, open_session
from tests.netdsl.distributed import conftest as distributed
from tests.patience import PATIENCE

MASTER = "local-cluster[2,1,2048]"
QUIET = {"spark.ui.enabled": "false", "spark.executor.memory": "1g", "spark.driver.memory": "1g"}
param, run = distributed.param, distributed.run  # fixtures
TRANSPORTS = [Transport.GLOO, Transport.RELAY]  # those that work across machines and need no GPU


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a session with two executors that have one slot each."""
    # Executors import the modules of the tests whose functions they run.
    tests = {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[3])}
    local = {"spark.local.dir": str(tmp_path_factory.mktemp("local")), **tests}
    with open_session(MASTER, {**SETTINGS, **QUIET, **local}) as session:
        yield session


@pytest.fixture
def folder(param: pb.SolverParameter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run's folder. Only its workers have the parent folder as their working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python without any packages."""
    place = tmp_path_factory.mktemp("bare")
    venv.create(place, symlinks=True)
    return str(place / "bin/python")


def begin(
    param: pb.SolverParameter,
    folder: Path,
    strategy: str,
    *,
    size: int = 2,
    transport: Transport | None = None,
    deadline: float = PATIENCE,
) -> Path:
    """Begin a run."""
    Run(open_settings(param), parse(strategy), size, transport=transport, deadline=deadline).settled().save(folder)
    return folder


def same(folder: Path, weights: Tensor) -> bool:
    """Return whether a run ended with these weights, which have gaps between them in memory."""
    blobs: list[np.ndarray] = [each for blobs in arrays_of(read_net(folder / MODEL)).values() for each in blobs]
    whole = weights.numpy().tobytes()
    return all(each.tobytes() in whole for each in blobs)


def workers_of(folder: Path) -> list[int]:
    """Return Spark's processes whose working directory is a run's parent folder."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink() == folder.parent and b"pyspark" in (path / "cmdline").read_bytes():
                processes.append(int(path.name))
        except OSError:
            continue
    return processes


def executor_of(worker: int) -> int:
    """Return a worker's executor: the parent of the daemon that started the worker."""
    return _parent_of(_parent_of(worker))


def after_round(
    number: int, harm: Callable[[], object], restarts: list[WorkersRestarted] | None = None
) -> Callable[[Told], object]:
    """Do harm once, when a round is finished, and append restarts to a list."""
    harmed: list[bool] = []

    def told(what: Told) -> None:
        if isinstance(what, WorkersRestarted) and restarts is not None:
            restarts.append(what)
        if isinstance(what, RoundRecord) and what.number >= number and not harmed:
            harmed.append(True)
            harm()

    return told


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
