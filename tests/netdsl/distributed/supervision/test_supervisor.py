"""Workers are watched, ended, and started again; these are real processes, which are really killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netdsl.distributed.supervision.retries import End
from netdsl.distributed.supervision.supervisor import Care, run
from netdsl.errors import DistributedError

MEMBER = Path(__file__).with_name("worker.py")
CARE = Care(deadline=30.0, retries=1)


class Run:
    """What happened in a run."""

    def __init__(self, task, logs, size=2, care=CARE, on_event=lambda rank, message: False):
        self.events, self.restarts, self.on_event = [], [], on_event
        self.end = run(
            lambda place: [sys.executable, str(MEMBER), place.text(), task],
            size,
            logs,
            care=care,
            heard=self.hear,
            restarted=lambda generation, why: self.restarts.append((generation, why)),
        )

    def hear(self, rank, message):
        self.events.append((rank, message))
        return self.on_event(rank, message)


def pids_of(events):
    return {rank: message["pid"] for rank, message in events if "pid" in message}


def descriptors():
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_workers_finish_and_leave_nothing_open(tmp_path):
    before = descriptors()
    done = Run("three", tmp_path, size=3)
    assert done.end is End.FINISHED
    assert not done.restarts
    ends = sorted((rank, message["end"], message["mean"]) for rank, message in done.events if "end" in message)
    assert ends == [(0, 3, 1.0), (1, 3, 1.0), (2, 3, 1.0)]
    assert descriptors() == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_all_start_again_when_one_is_killed(tmp_path, number):
    killed = []

    def kill(rank, message):
        if rank == 1 and message.get("round") == 2 and not message["generation"]:
            os.kill(message["pid"], number)
            killed.append(time.monotonic())
        return False

    before = descriptors()
    done = Run("endless_then_three", tmp_path, on_event=kill)
    assert done.end is End.FINISHED
    assert len(killed) == 1
    ((generation, why),) = done.restarts
    assert generation == 1
    assert f"worker 1 was ended by {number.name}" in why
    assert "given up while waiting for worker 1" in (tmp_path / "worker-0.log").read_text()
    assert descriptors() == before


@pytest.mark.parametrize("task", ["hang", "endless_then_three"])
def test_one_that_hangs_is_killed(tmp_path, task):
    def stop(rank, message):
        if rank == 1 and message.get("round") == 2 and not message["generation"]:
            os.kill(message["pid"], signal.SIGSTOP)
        return False

    done = Run(task, tmp_path, care=Care(deadline=1.5, retries=3), on_event=stop)
    assert done.end is End.FINISHED
    assert "worker 1 gave no sign of life" in done.restarts[0][1]


def test_an_error_that_would_come_again_ends_the_run_at_once(tmp_path):
    with pytest.raises(DistributedError, match=r"^worker 1: digits.csv:7: three columns.*correct it$"):
        Run("wrong", tmp_path)


def test_crashes_without_progress_end_it_with_the_last_words(tmp_path):
    with pytest.raises(DistributedError, match="failed 2 times without progress: worker 1 ended with exit code 1"):
        Run("crash", tmp_path)


def test_progress_forgives_failures(tmp_path):
    done = Run("crash_twice", tmp_path, on_event=lambda rank, message: "round" in message)
    assert done.end is End.FINISHED
    assert [generation for generation, _ in done.restarts] == [1, 2]


def test_a_wrong_command_line_is_not_tried_again(tmp_path):
    with pytest.raises(DistributedError, match=r"worker 0 can't be started: .*no-such-program"):
        run(lambda place: ["/no-such-program", place.text()], 2, tmp_path)


def test_a_signal_lets_workers_finish_their_round(tmp_path):
    before = signal.getsignal(signal.SIGINT)

    def interrupt(rank, message):
        if message.get("round") == 1 and rank == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    done = Run("endless", tmp_path, on_event=interrupt)
    assert done.end is End.STOPPED
    assert len({message["end"] for _, message in done.events if "end" in message}) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_whoever_runs_it_may_say_once_when_to_stop(tmp_path):
    wishes = iter([False, False, True])

    def command_of(place):
        return [sys.executable, str(MEMBER), place.text(), "endless"]

    assert run(command_of, 2, tmp_path, care=CARE, wanted=lambda: next(wishes, False)) is End.STOPPED


def test_workers_go_when_the_supervisor_is_killed(tmp_path):
    program = (
        "import sys, json; from pathlib import Path; from netdsl.distributed.supervision.supervisor import run\n"
        f"command = lambda place: [sys.executable, {str(MEMBER)!r}, place.text(), 'silent']\n"
        "run(command, 2, Path(sys.argv[1]), heard=lambda rank, message: print(json.dumps([rank, message]), flush=True))"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with supervisor:
        events = []
        while len(pids_of(events)) < 2:
            events.append(json.loads(supervisor.stdout.readline()))
        supervisor.kill()
    pids = pids_of(events).values()
    until = time.monotonic() + 30
    while not all(map(has_ended, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    assert all(map(has_ended, pids))
