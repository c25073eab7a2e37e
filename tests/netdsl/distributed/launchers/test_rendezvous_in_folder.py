"""Workers meet in a run's folder, where the others also learn why the first one failed."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import msgspec
import pytest

from netdsl.distributed.control.address import NetworkPort
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers import rendezvous_in_folder
from netdsl.distributed.launchers.rendezvous import UNREACHABLE
from netdsl.distributed.launchers.rendezvous_in_folder import FolderRendezvous
from netdsl.errors import DataError, DistributedError
from tests.patience import PATIENCE


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[WorkerSpec]:
    """Return the spec of a run whose supervisor listens at 127.0.0.2."""
    with ControlServer(NetworkPlace.at("127.0.0.2"), 2) as server:
        yield WorkerSpec(str(tmp_path), str(tmp_path), 2, server.address(), 1.0)


def with_host(spec: WorkerSpec, host: str) -> WorkerSpec:
    """Return a spec that names another address of the supervisor."""
    assert isinstance(spec.control.place, NetworkPort)
    place = msgspec.structs.replace(spec.control.place, hosts=(host,))
    return msgspec.structs.replace(spec, control=msgspec.structs.replace(spec.control, place=place))


def await_in_thread(folder: Path) -> Future[WorkerSpec]:
    """Let the second worker wait, and return when it has begun to."""
    begun, state_of = Event(), rendezvous_in_folder._state_of

    def note_state(file: Path) -> tuple[int, int] | None:
        state = state_of(file)
        begun.set()
        return state

    rendezvous_in_folder._state_of = note_state
    try:
        found = ThreadPoolExecutor(1).submit(FolderRendezvous(folder).await_spec, 1)
        assert begun.wait(PATIENCE)
    finally:
        rendezvous_in_folder._state_of = state_of
    return found


def test_the_other_workers_end_with_the_reason_of_the_first(tmp_path: Path) -> None:
    run = tmp_path / "run"  # a mistake in the net leaves none
    other = await_in_thread(run)
    with pytest.raises(DataError), FolderRendezvous(run).leading():
        raise DataError("digits.csv:7: three columns, and there should be two; correct it")
    with pytest.raises(
        DistributedError,
        match=rf"the first worker, on {socket.gethostname()}, failed: digits.csv:7: .*; correct it; start all ",
    ):
        other.result(PATIENCE)
    assert stat.S_IMODE((run / "control.json").stat().st_mode) == 0o600


def test_an_unexpected_failure_is_published_without_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError), FolderRendezvous(tmp_path).leading():
        raise KeyError("a password")
    monkeypatch.setattr(rendezvous_in_folder, "_LEFTOVER", PATIENCE)  # the file is younger than this process
    with pytest.raises(DistributedError, match=r"failed: KeyError; its output contains more; start all"):
        FolderRendezvous(tmp_path).await_spec(1)


@pytest.mark.parametrize("job", ["8", "9"])
def test_a_failure_of_an_earlier_start_is_ignored(
    tmp_path: Path, spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "8")
    with pytest.raises(DataError), FolderRendezvous(tmp_path).leading():
        raise DataError("an earlier mistake; correct it")
    os.utime(tmp_path / "control.json", (1.0, 1.0))  # long before this process began
    monkeypatch.setenv("SLURM_JOB_ID", job)
    other = await_in_thread(tmp_path)
    with FolderRendezvous(tmp_path).leading():
        FolderRendezvous(tmp_path).publish(spec)
        assert other.result(PATIENCE).control == spec.control


def test_a_worker_that_cannot_reach_the_first_says_why_to_both(
    tmp_path: Path, spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendezvous_in_folder, "_REACH", 0.0)
    monkeypatch.setattr(rendezvous_in_folder, "_BEAT", 0.05)
    rendezvous, here = FolderRendezvous(tmp_path), socket.gethostname()
    rendezvous.publish(with_host(spec, "127.0.0.3"))
    with pytest.raises(DistributedError) as caught:
        FolderRendezvous(tmp_path).await_spec(1)
    said = str(caught.value)
    assert said.startswith(
        f"the first worker, on {here}, can't be reached from {here}: 127.0.0.3 refuses the connection (a firewall "
    )
    assert said.endswith("with --address, and a port that no firewall closes with --port")
    until = time.monotonic() + PATIENCE
    while not (problems := rendezvous.problems(2)) and time.monotonic() < until:
        time.sleep(0.01)
    assert problems == {1: f"on {here} ended: {said.removesuffix('; ' + UNREACHABLE)}"}
    rendezvous.close()


def test_the_spec_of_a_killed_supervisor_is_ignored(
    tmp_path: Path, spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendezvous_in_folder, "_REACH", 0.0)
    killed = FolderRendezvous(tmp_path)
    killed._ended.set()  # it gives no sign of life
    killed.publish(with_host(spec, "127.0.0.3"))
    other = await_in_thread(tmp_path)
    time.sleep(0.5)
    assert not other.done()
    rendezvous = FolderRendezvous(tmp_path)
    rendezvous.publish(spec)
    assert other.result(PATIENCE).control == spec.control
    rendezvous.close()


def test_the_time_without_a_way_to_the_first_begins_anew_with_its_next_supervisor(
    tmp_path: Path, spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, first, second = 1.0, FolderRendezvous(tmp_path), FolderRendezvous(tmp_path)
    monkeypatch.setattr(rendezvous_in_folder, "_BEAT", PATIENCE)
    steps: Iterator[Callable[[], object]] = iter(
        [
            lambda: first.publish(spec),  # and the connection to it fails
            first.close,
            lambda: second.publish(spec),  # and the first connection to it fails, but not the next one
            lambda: None,
        ]
    )

    def pass_time(seconds: float) -> None:
        nonlocal now
        now += 20.0  # in two steps, longer than an unreachable first worker is tried
        next(steps)()

    failures = iter([OSError("no way"), OSError("no way")])

    def reached(found: WorkerSpec) -> WorkerSpec:
        for failure in failures:
            raise failure
        return found

    monkeypatch.setattr(rendezvous_in_folder, "reached", reached)
    monkeypatch.setattr(rendezvous_in_folder, "time", SimpleNamespace(sleep=pass_time, monotonic=lambda: now))
    assert FolderRendezvous(tmp_path).await_spec(1) == spec
    second.close()


def test_a_refused_start_leaves_what_another_process_has_published(tmp_path: Path, spec: WorkerSpec) -> None:
    rendezvous = FolderRendezvous(tmp_path)
    rendezvous.publish(spec)
    published = (tmp_path / "control.json").read_bytes()
    with pytest.raises(DataError), FolderRendezvous(tmp_path).leading():
        raise DataError("another process holds the run")
    assert (tmp_path / "control.json").read_bytes() == published
    rendezvous.close()
