"""Workers, executors and drivers that are really killed or stopped, and Spark's own ways of handling that."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.supervisor import End, train
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError
from netdsl.solver.events import WorkersRestarted
from netdsl.spark.launcher import SparkLauncher
from tests.netdsl.distributed.conftest import Simulate
from tests.netdsl.spark import driver
from tests.netdsl.spark.conftest import MASTER, QUIET, TRANSPORTS, after_round, begin, executor_of, same, workers_of
from tests.patience import PATIENCE

pytestmark = pytest.mark.spark

LOST = r"worker \d was lost: (its connection ended without a report|Spark ended its task)"  # whichever is noticed first


def start_driver(folder: Path, settings: Mapping[str, str], master: str = MASTER) -> subprocess.Popen[str]:
    """Start a driver in a separate process."""
    words = [folder, master, json.dumps({**QUIET, **settings})]
    return subprocess.Popen(
        [sys.executable, driver.__file__, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("whom", ["worker", "executor"])
def test_a_run_has_the_same_bits_whichever_process_is_killed(
    session: Any, param: pb.SolverParameter, run: Simulate, folder: Path, whom: str, transport: Transport
) -> None:
    param.max_iter = 60
    starts: list[WorkersRestarted] = []

    def kill() -> None:
        worker = workers_of(folder)[0]
        os.kill(worker if whom == "worker" else executor_of(worker), signal.SIGKILL)

    begin(param, folder, "averaging:tau=3", transport=transport)
    train(
        folder,
        SparkLauncher(session),
        told=after_round(5, kill, starts),
    )
    assert [each.start for each in starts] == [2]
    assert re.match(LOST, starts[0].reason)
    assert same(folder, run("averaging:tau=3").weights[0])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_hanging_worker_is_replaced(
    session: Any, param: pb.SolverParameter, run: Simulate, folder: Path, transport: Transport
) -> None:
    param.max_iter = 60
    starts: list[WorkersRestarted] = []

    def halt() -> None:
        os.kill(workers_of(folder)[0], signal.SIGSTOP)

    begin(param, folder, "outer:tau=3", transport=transport, deadline=4.0)
    train(
        folder,
        SparkLauncher(session),
        told=after_round(5, halt, starts),
    )
    assert [each.start for each in starts] == [2]
    assert "gave no sign of life for 4 s" in starts[0].reason
    assert same(folder, run("outer:tau=3").weights[0])


def test_failures_without_progress_end_the_run(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    param.max_iter = 60

    def kill() -> None:
        os.kill(workers_of(folder)[0], signal.SIGKILL)

    begin(param, folder, "averaging:tau=3")
    with pytest.raises(DistributedError, match=f"training failed without progress: {LOST}"):
        train(folder, SparkLauncher(session), told=after_round(1, kill), retries=0)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_new_driver_continues_for_a_killed_one(
    session: Any, param: pb.SolverParameter, run: Simulate, folder: Path, transport: Transport
) -> None:
    param.max_iter = 300
    begin(param, folder, "averaging:tau=3", transport=transport)
    with start_driver(folder, {}, "local[2]") as first:
        while not (folder / "rounds/round-00000003/whole.json").exists() and first.poll() is None:
            time.sleep(0.01)
        workers = workers_of(folder)
        first.kill()
    assert len(workers) > 2  # includes Spark's own processes
    assert not (folder / "model.caffemodel").exists()
    until = time.monotonic() + PATIENCE
    while workers_of(folder) and time.monotonic() < until:
        time.sleep(0.05)
    assert not workers_of(folder)
    assert train(folder, SparkLauncher(session)) is End.FINISHED
    assert same(folder, run("averaging:tau=3").weights[0])


@pytest.mark.parametrize(
    "settings",
    [{"spark.speculation": "true", "spark.speculation.interval": "50ms"}, {"spark.python.worker.reuse": "false"}],
    ids=["speculation", "workers anew"],
)
def test_sparks_own_settings_do_not_disturb_a_run(
    param: pb.SolverParameter, run: Simulate, folder: Path, settings: dict[str, str]
) -> None:
    param.max_iter = 60
    begin(param, folder, "averaging:tau=3")
    with start_driver(folder, settings) as done:
        out, err = done.communicate()
    assert done.returncode == 0, err
    assert json.loads(out.splitlines()[-1]) == []
    assert same(folder, run("averaging:tau=3").weights[0])


def test_dynamic_executors_are_refused(param: pb.SolverParameter, folder: Path) -> None:
    begin(param, folder, "averaging:tau=3")
    with start_driver(folder, {"spark.dynamicAllocation.enabled": "true"}) as done:
        _, err = done.communicate()
    assert done.returncode == 1
    assert err.splitlines()[-1].startswith(
        "refused: workers must keep their executors, but dynamic allocation is on; set spark.dynamicAllocation"
    )
