"""Doctor's findings about a machine that is small, or whose settings make it slow."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

import pytest

from zoo.doctor.machine import check_machine
from zoo.doctor.results import CheckResult, Verdict


def checks(**environment: str) -> dict[str, CheckResult]:
    return {result.part: result for result in check_machine(environment)}


def test_settings_that_slow_threads_down_are_limits() -> None:
    assert "threads" not in checks() or "container" in checks()["threads"].fact
    for setting in ({"OMP_WAIT_POLICY": "active"}, {"KMP_BLOCKTIME": "infinite"}, {"OMP_NUM_THREADS": "9999"}):
        (name,) = setting
        limit = checks(**setting)["threads"]
        assert limit.verdict is Verdict.LIMITED
        assert limit.fact.startswith(f"{name}") and limit.advice.startswith(f"unset {name}")


def test_few_open_files_are_a_limit() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        assert checks()["open files"] == CheckResult(
            "machine", "open files", Verdict.LIMITED, "256 at once", "ulimit -n 4096"
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_small_shared_memory_and_a_full_disk_are_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(total=64 << 20, free=3 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    found = checks()
    assert found["disk"].verdict is Verdict.LIMITED and found["disk"].fact.startswith("3 MiB free in ")
    if Path("/dev/shm").exists():
        assert found["shared memory"].verdict is Verdict.LIMITED
        assert "--shm-size" in found["shared memory"].advice


def test_a_store_that_cannot_be_made_limits_pulls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NETDSL_HOME", str(tmp_path / "new" / "home"))
    assert checks()["store"].verdict is Verdict.GOOD
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("NETDSL_HOME", str(tmp_path / "file" / "home"))
    store = checks()["store"]
    assert store.verdict is Verdict.LIMITED and "NETDSL_HOME" in store.advice
    assert store.fact.startswith(f"no model can be pulled, since {tmp_path}/file/home/store isn't writable: ")
