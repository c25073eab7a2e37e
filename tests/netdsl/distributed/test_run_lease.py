"""Processes that want the lease of one run: only one has it, and the others learn who has it."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from caffe_proto.errors import SettingError
from netdsl.distributed.run_lease import FILE, VARIABLE, LeaseWatcher, check_lease, held_lease, hold
from netdsl.errors import DistributedError
from tests.lease_holders import lease_holders
from tests.patience import PATIENCE

SHORT = "0.5"  # seconds of a lease whose holder is stopped
ROUNDS = 2


def test_of_two_processes_that_start_together_exactly_one_gets_the_lease(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / f"run{number}"
        with lease_holders(folder, "10", "10", "10") as started:
            for holder in started:
                holder.go()
            lines = {holder: holder.line() for holder in started}
            winners = [holder for holder, line in lines.items() if line == "held"]
            assert len(winners) == 1, lines
            others = [line for line in lines.values() if line != "held"]
            assert all(f"the run is held by process {winners[0].process.pid} of " in line for line in others)
            assert [holder.end() for holder in started if holder not in winners] == [2, 2]
            assert winners[0].end() == 0
        assert not list(folder.glob("*"))


def test_the_lease_of_a_killed_process_is_taken_over_by_one_of_those_that_want_it(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / f"run{number}"
        with lease_holders(folder, "86400", "10", "10") as (killed, *others):
            killed.taken().process.kill()
            killed.process.wait()
            for other in others:
                other.go()
            lines = [other.line() for other in others]
            notes = [line for line in lines if line.startswith("note: ")]
            assert len(notes) == 1, lines
            assert notes[0].startswith(f"note: {folder}: the run was held by process {killed.process.pid} of ")
            assert notes[0].endswith(", which has ended; this process takes it over")
            assert sum("the run is held by process" in line for line in lines) == 1, lines
        assert [path.name for path in folder.iterdir()] == [FILE]


def test_those_who_wait_for_a_holder_notice_that_it_was_killed(tmp_path: Path) -> None:
    watcher = LeaseWatcher(tmp_path)
    with lease_holders(tmp_path, "10") as (killed,):
        killed.taken()
        assert watcher.lost_holder() == ""
        killed.process.kill()
        killed.process.wait()
        until = time.monotonic() + PATIENCE
        while not (lost := watcher.lost_holder()) and time.monotonic() < until:
            time.sleep(0.05)
    assert lost.startswith(f"process {killed.process.pid} of ")
    late = LeaseWatcher(tmp_path)  # a successor may still wait for the lease's time
    assert late.lost_holder() == ""


def test_a_process_that_was_stopped_for_long_notices_that_it_has_lost_the_lease(tmp_path: Path) -> None:
    with lease_holders(tmp_path, SHORT, "10") as (stopped, other):
        stopped.taken().process.send_signal(signal.SIGSTOP)
        other.go()
        lines = [other.line(), other.line()]
        assert lines[0].endswith("it is taken over if that doesn't change for 0.5 s"), lines
        assert lines[1].endswith(", which hasn't written anything for 0.5 s; this process takes it over"), lines
        assert other.line() == "held"
        stopped.process.send_signal(signal.SIGCONT)
        stopped.go()
        line = stopped.line()
        assert line.startswith(f"{tmp_path}: this process was stopped for so long that process {other.process.pid} of ")
        assert stopped.process.wait() == 2
        other.go()
        assert other.line() == "checked"  # it still has the lease
        assert other.end() == 0
    assert not list(tmp_path.iterdir())


def test_a_lease_of_another_machine_is_taken_over_only_after_its_time(tmp_path: Path) -> None:
    with lease_holders(tmp_path, SHORT) as (killed,):
        killed.taken().process.kill()
        killed.process.wait()
    file = tmp_path / FILE
    terms = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({**terms, "machine": "another", "host": "node2"}))
    notes: list[str] = []
    with hold(tmp_path, notes.append):
        assert notes[-1].endswith("which hasn't written anything for 0.5 s; this process takes it over")
        assert f"process {terms['process']} of {terms['user']} on node2 since " in notes[-1]


def test_a_copied_folder_is_free_and_a_moved_one_is_lost(tmp_path: Path) -> None:
    run, copy, moved = (tmp_path / name for name in ("run", "copy", "moved"))
    with lease_holders(run, "3") as (holder,):
        holder.taken()
        shutil.copytree(run, copy)
        notes: list[str] = []
        with hold(copy, notes.append):
            assert notes[-1].endswith(f"but in {run}, of which this folder is a copy; this process takes it over")
            holder.go()
            assert holder.line() == "checked"
        run.rename(moved)
        line = "checked"
        while line == "checked":  # it looks at the folder now and then
            holder.go()
            line = holder.line()
        assert line.startswith(f"{run}: the run's folder was moved or removed during training")
        assert holder.process.wait() == 2
    assert not run.exists()
    with hold(moved, notes.append):
        assert notes[-1].endswith(", which has ended; this process takes it over")


def test_a_damaged_lease_is_taken_over_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.2")
    (tmp_path / FILE).write_bytes(b"")
    notes: list[str] = []
    with hold(tmp_path, notes.append):
        assert "the run was held by an unknown process, which hasn't written anything for " in notes[-1]
    assert not list(tmp_path.iterdir())


def test_only_the_thread_that_holds_a_lease_goes_on_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    problems = list[str]()

    def want() -> None:
        try:
            with hold(tmp_path / "run"):
                problems.append("")
        except DistributedError as problem:
            problems.append(str(problem))

    with hold(tmp_path / "run") as lease, hold(tmp_path / "run") as same:
        assert same is lease is held_lease(tmp_path / "run")
        thread = Thread(target=want)
        thread.start()
        thread.join()
        check_lease(tmp_path / "run", lease.key)
        with pytest.raises(DistributedError, match="was stopped for so long that process"):
            check_lease(tmp_path / "run", "another key")
    assert f"the run is held by process {os.getpid()} of " in problems[0]
    assert held_lease(tmp_path / "run") is None and not (tmp_path / "run").exists()
    with pytest.raises(DistributedError, match="was moved or removed during training"):
        check_lease(tmp_path / "run", lease.key)


def test_a_wrong_time_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "long")
    with pytest.raises(SettingError, match="NETDSL_LEASE_SECONDS is 'long'; set it to a number"), hold(tmp_path):
        pass


def test_a_folder_whose_path_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"ad\xff")
    with (
        pytest.raises(
            DistributedError, match=r"the path isn't UTF-8, .*; rename the folder, or name another one with --run$"
        ),
        hold(folder),
    ):
        pass
    assert not folder.exists()
