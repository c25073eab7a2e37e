"""The machines of a cluster, as workers find them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from netdsl.distributed.control.versions import Versions
from netdsl.distributed.hosts import HostReport, Way
from netdsl.mpi.installation import SETTINGS, mpiexec
from zoo.doctor.cluster import _results
from zoo.doctor.results import CheckResult, Verdict
from zoo.requests.machine import DoctorRequest
from zoo.requests.request import RequestError

VERSIONS = Versions("3.11.7", "0.1.0", "2.13.0")
GOOD = [
    HostReport(rank, f"node{rank}", VERSIONS, ("4 cores",), ("10.0.0.1",), True, {}, "gloo", Way(2e-4, 0.15))
    for rank in range(3)
]


def with_last(**changes: object) -> list[HostReport]:
    """Return reports of which the last differs from the others."""
    return [*GOOD[:-1], msgspec.structs.replace(GOOD[-1], **changes)]


def results_of(reports: list[HostReport]) -> dict[str, CheckResult]:
    return {result.part: result for result in _results(reports, Path("/shared"), ["csv:rows.csv"])}


def test_like_machines_are_good() -> None:
    results = results_of(GOOD)
    assert {result.verdict for result in results.values()} == {Verdict.GOOD}
    assert results["worker 1 on node1"].fact == "Python 3.11.7, netdsl 0.1.0, torch 2.13.0; 4 cores; 10.0.0.1"
    way = results["worker 2 on node2 to worker 0 on node0"]
    assert way.fact == "16 MB in 0.150 s (112 MB/s) over gloo, latency 200 us"


def test_what_only_some_machines_have_is_named_with_the_others() -> None:
    results = results_of(with_last(sees_folder=False, missing={"csv:rows.csv": "rows.csv doesn't exist"}))
    assert results["/shared"].verdict is Verdict.LIMITED
    assert results["/shared"].fact == "not on node2, so a run's files go over the network"
    assert results["csv:rows.csv"].verdict is Verdict.WRONG
    assert results["csv:rows.csv"].fact == "not on node2: rows.csv doesn't exist"


def test_another_python_and_a_slow_network_are_limits() -> None:
    results = results_of(with_last(versions=Versions("3.12.1", "0.1.0", "2.13.0"), way=Way(1e-4, 1.5)))
    assert results["versions"].verdict is Verdict.LIMITED
    assert results["worker 2 on node2 to worker 0 on node0"].verdict is Verdict.LIMITED
    assert results["for zoo plan and zoo simulate"].fact == "--bandwidth 11.2MB --latency 200us"


def test_workers_that_are_apart_are_a_limit() -> None:
    results = results_of([msgspec.structs.replace(report, transport="relay") for report in GOOD])
    assert "can't reach each other" in results["transport"].fact


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"folder": Path("run")}, "add --cluster"),
        ({"cluster": True, "folder": Path("run")}, "mpiexec -n 4 zoo doctor --cluster --run FOLDER"),
        ({"cluster": True, "backend": "mpi"}, "add --run FOLDER"),
        ({"cluster": True, "backend": "spark", "folder": Path("run")}, "add --workers K"),
    ],
)
def test_a_cluster_needs_a_launcher_and_a_folder(options: dict[str, object], problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        DoctorRequest(**options).check()  # type: ignore[arg-type]


def test_the_ranks_of_mpiexec_examine_their_machines(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1\n")
    command = [sys.executable, "-m", "zoo", "doctor", "--cluster", "--run", str(tmp_path / "shared"), "--json"]
    command += ["--data", f"csv:{tmp_path}/rows.csv", "--data", f"csv:{tmp_path}/none.csv"]
    done = subprocess.run(
        [mpiexec(), "-n", "2", *command], env={**SETTINGS, **os.environ}, capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    wrong = {check["part"]: check["fact"] for check in answer["checks"] if check["verdict"] == "wrong"}
    assert done.returncode == 1 and not answer["healthy"]
    assert list(wrong) == [f"csv:{tmp_path}/none.csv"] and wrong.popitem()[1].startswith("not on ")
    assert sum(check["group"] == "machines" for check in answer["checks"]) == 2
    assert sum(check["group"] == "network" for check in answer["checks"]) == 2
