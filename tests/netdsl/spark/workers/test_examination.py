from __future__ import annotations

from dataclasses import replace

import pytest

from netdsl.spark.workers.examination import Versions, examine
from netdsl.spark.workers.serving import serving
from netdsl.spark.workers.transport import Transport
from tests.netdsl.spark.conftest import Here


@pytest.fixture(params=Transport)
def place(tmp_path, monkeypatch, request):
    """A driver with one worker, whose run has a folder to be found."""
    (tmp_path / "run/probe").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    with serving(Here(), tmp_path / "run", 1, request.param) as (_, found):
        yield found


def found(place, versions=None, probe="probe"):
    return list(examine(place.text(), versions or Versions.here(), probe, [0]))


def test_all_is_well(place, tmp_path):
    assert found(place) == []
    assert (tmp_path / "run/probe/0").exists()


def test_another_version(place):
    ((problem, only_apart),) = found(place, replace(Versions.here(), torch="1.13.1"))
    assert "torch is 2." in problem and "and 1.13.1 at the driver; install the same everywhere" in problem
    assert "netdsl" not in problem
    assert not only_apart


def test_a_run_that_isnt_shared(place, tmp_path):
    ((problem, only_apart),) = found(place, probe="another")
    assert f"the run's folder {tmp_path}/run isn't the one that the driver sees" in problem
    assert not only_apart


def test_a_folder_that_isnt_shared(place, tmp_path):
    ((problem, only_apart),) = found(replace(place, folder=str(tmp_path / "home")))
    assert f"there is no folder {tmp_path}/home, where training was begun" in problem
    assert not only_apart


def test_a_driver_that_cant_be_reached(place, tmp_path):
    with serving(Here(), tmp_path, 1, place.transport) as (_, gone):
        pass
    ((problem, only_apart),) = found(replace(place, hub=gone.hub))
    assert f"the driver at 127.0.0.1:{gone.hub} can't be reached" in problem
    assert "set spark.driver.host to an address they reach" in problem
    assert not only_apart


def test_peers_that_dont_reach_each_other(place, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nowhere0")
    problems = found(place)
    if place.transport is Transport.DRIVER:
        assert problems == []
    else:
        ((problem, only_apart),) = problems
        assert "meeting the others: " in problem and "nowhere0" in problem
        assert only_apart
