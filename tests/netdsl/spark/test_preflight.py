from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.control.versions import Versions
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run import Run
from netdsl.errors import DistributedError
from netdsl.solver.settings import open_settings
from netdsl.spark import preflight
from netdsl.spark.cluster import Cluster
from netdsl.spark.preflight import check_cluster, examine
from tests.netdsl.spark.conftest import begin

HERE = NetworkPlace.at("127.0.0.1")


@pytest.fixture
def spec(tmp_path):
    """Return the spec of the only worker, on a machine that doesn't see the run's folder."""
    with ControlServer(HERE, 1) as server:
        yield WorkerSpec(str(tmp_path / "run"), str(Path.cwd()), 1, server.address(), 1.0)


def problems_of(spec, versions=None):
    return list(examine(spec.text(), versions or Versions.here(), 0))


def test_a_working_cluster_passes(spec):
    assert problems_of(spec) == []


def test_another_version_is_reported(spec):
    (problem,) = problems_of(spec, msgspec.structs.replace(Versions.here(), torch="1.13.1"))
    assert "torch is 1.13.1 on the driver, and " in problem and "install the same versions everywhere" in problem
    assert "netdsl is" not in problem


def test_an_unreachable_driver_is_reported(spec):
    with ControlServer(HERE, 1) as server:
        gone = server.address()
    (problem,) = problems_of(msgspec.structs.replace(spec, control=gone))
    assert f"the control server at {gone.place} can't be reached" in problem
    assert "set spark.driver.host, or with Spark Connect spark.netdsl.host, to an address that" in problem


def test_dynamic_executors_are_reported(tmp_path):
    class Dynamic:
        """A cluster that has only settings."""

        def setting(self, name, default):
            return {"spark.dynamicAllocation.enabled": "true"}.get(name, default)

    run = Run(open_settings(pb.SolverParameter()), workers=2)
    with pytest.raises(
        DistributedError,
        match=r"must keep their executors, but dynamic allocation is on; set spark.dynamicAllocation.enabled=false",
    ):
        check_cluster(Dynamic(), tmp_path, run, print)


@pytest.mark.spark
def test_a_task_that_is_killed_in_the_preflight_is_retried(session, param, folder, monkeypatch):
    examine_for_real, notes = preflight.examine, []
    killed = folder.with_name("killed")

    def examine_and_die_once(*arguments):
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return examine_for_real(*arguments)

    monkeypatch.setattr(preflight, "examine", examine_and_die_once)
    begin(param, folder, "averaging:tau=3")
    check_cluster(Cluster(session), folder, Run.load(folder), notes.append)
    assert len(notes) == 1 and notes[0].endswith("; trying again (1 of 3)")
