"""Workers are watched, ended and restarted. They are real processes, which are really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from netdsl.distributed.launchers.local import LocalLauncher
from netdsl.distributed.run import Run
from netdsl.distributed.supervisor import End, Retries, train
from netdsl.errors import DistributedError
from netdsl.solver.events import Action, WorkersRestarted
from netdsl.solver.settings import open_settings
from tests.patience import PATIENCE

WORKER = Path(__file__).with_name("supervised_worker.py")


class TaskLauncher(LocalLauncher):
    """Starts processes that do a task instead of training."""

    def __init__(self, task):
        super().__init__()
        self.task, self.attempts = task, 0

    def start(self, spec):
        command = [sys.executable, str(WORKER), self.task, str(self.attempts)]
        self.attempts += 1
        return LocalLauncher(command).start(spec)


@pytest.fixture
def supervise(param, tmp_path):
    """Supervise workers that do a task. Returns their `records`, `restarts` and `end`."""

    class SupervisedRun:
        def __init__(self, task, size=2, *, deadline=PATIENCE, retries=1, told=lambda record: None, **options):
            self.records, self.restarts, self.folder = [], [], tmp_path / "run"
            self.told = told
            replace(Run(open_settings(param), workers=size), deadline=deadline).save(self.folder)
            self.end = train(
                self.folder,
                TaskLauncher(task),
                told=self.receive,
                retries=retries,
                **options,
            )

        def receive(self, record):
            if isinstance(record, WorkersRestarted):
                self.restarts.append((record.start, record.reason))
                return
            self.records.append(record)
            self.told(record)

    return SupervisedRun


def descriptors():
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def once(rank, number, harm):
    """Return a function that harms a worker's process when it first finishes a round."""
    harmed = []

    def told(record):
        if (record.rank, record.number) == (rank, number) and not harmed:
            harmed.append(record)
            harm(record.steps)

    return told


def test_workers_finish_and_leave_no_connection_open(supervise):
    before = descriptors()
    done = supervise("three", size=3)
    assert done.end is End.FINISHED
    assert not done.restarts
    assert sorted((each.number, each.rank) for each in done.records) == [
        (n, rank) for n in range(3) for rank in range(3)
    ]
    time.sleep(0.2)  # the server's threads close their connections
    assert descriptors() == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_all_workers_restart_when_one_is_killed(supervise, number):
    done = supervise("endless_then_three", told=once(1, 2, lambda pid: os.kill(pid, number)))
    assert done.end is End.FINISHED
    ((attempt, reason),) = done.restarts
    assert attempt == 2
    assert f"worker 1 was lost: ended by {number.name}" in reason


@pytest.mark.parametrize("task", ["hang", "endless_then_three"])
def test_a_hanging_worker_is_ended(supervise, task):
    told = once(1, 2, lambda pid: os.kill(pid, signal.SIGSTOP))
    done = supervise(task, deadline=4.0, retries=3, told=told)
    assert done.end is End.FINISHED
    assert "worker 1" in done.restarts[0][1] and "gave no sign of life for 4 s" in done.restarts[0][1]


def test_a_slow_worker_is_not_ended(supervise):
    done = supervise("slow", deadline=3.0)
    assert done.end is End.FINISHED
    assert not done.restarts


def test_a_repeatable_error_ends_the_run_at_once(supervise):
    with pytest.raises(DistributedError, match=r"^worker 1: digits.csv:7: three columns.*correct it$"):
        supervise("wrong")


def test_crashes_without_progress_end_the_run_with_the_last_output(supervise):
    with pytest.raises(
        DistributedError, match=r"failed 2 times.*worker 1 crashed: RuntimeError: a leg.*the last lines of"
    ):
        supervise("crash")


def test_progress_forgives_failures(supervise):
    done = supervise("crash_twice")
    assert done.end is End.FINISHED
    assert [start for start, _ in done.restarts] == [2, 3]


def test_a_worker_that_ends_without_a_report_is_noticed(supervise):
    done = supervise("vanish")
    assert done.end is End.FINISHED
    assert "worker 1 was lost: ended with exit code 7" in done.restarts[0][1]


def test_workers_that_never_begin_are_noticed_at_once(supervise):
    begun = time.monotonic()
    with pytest.raises(DistributedError, match=r"failed 2 times without progress: worker . ended with exit code 9"):
        supervise("stillborn")
    assert time.monotonic() - begun < PATIENCE


def test_one_request_stops_all_workers(supervise):
    requests = iter([Action.NONE, Action.STOP])
    done = supervise("endless", requested=lambda: next(requests, Action.NONE))
    assert done.end is End.STOPPED
    assert not done.restarts


def test_workers_end_when_the_supervisor_is_killed(param, tmp_path):
    Run(open_settings(param), workers=2).save(tmp_path / "run")
    program = (
        "import sys; from pathlib import Path\n"
        "from netdsl.distributed.launchers.local import LocalLauncher\n"
        "from netdsl.distributed.supervisor import train\n"
        f"launcher = LocalLauncher([sys.executable, {str(WORKER)!r}, 'silent', '0'])\n"
        "train(Path(sys.argv[1]), launcher, told=lambda record: print(record.steps, flush=True))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pids = {int(supervisor.stdout.readline()) for _ in range(2)}
        supervisor.kill()
    until = time.monotonic() + PATIENCE
    while not all(map(has_ended, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    assert all(map(has_ended, pids))


def attempts(endings: Sequence[str | None], progress: Callable[[], object]) -> Callable[[int], str | None]:
    """Supervise attempts that make progress or don't, each with its own end."""

    def attempt(number: int) -> str | None:
        progress()
        return endings[number]

    return attempt


def test_a_run_restarts_until_an_attempt_succeeds() -> None:
    restarts: list[tuple[int, str]] = []
    retries = Retries(lambda: False, most=1)
    end = retries.run(attempts(["lost", "", None], retries.note_progress), lambda *start: restarts.append(start))
    assert end is End.FINISHED
    assert restarts == [(1, "lost"), (2, "")]  # a failure without a reason counts too


def test_failures_without_progress_end_a_run() -> None:
    retries = Retries(lambda: False, most=1)
    with pytest.raises(DistributedError, match="training failed 2 times without progress: again"):
        retries.run(attempts(["lost", "again"], lambda: None), lambda *start: None)


def test_a_request_to_stop_is_reported_once_and_remains() -> None:
    requests = iter([True])
    retries = Retries(lambda: next(requests, False), most=3)
    assert retries.run(attempts(["lost"], lambda: None), lambda *start: pytest.fail("began again")) is End.STOPPED
    assert retries.stopping()
