from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from netdsl.distributed.journal import Journal, JournalEntry, Retention, read_memberships
from netdsl.distributed.launcher import Launcher
from netdsl.distributed.launchers.local import LocalLauncher
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.supervisor import End, train
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import CaffeError, DivergedError
from netdsl.model.weights.match import arrays_of
from netdsl.mpi.launcher import MpiexecLauncher
from netdsl.solver.events import Action, WorkersRestarted
from netdsl.solver.settings import open_settings
from tests.netdsl.distributed.conftest import Simulate
from tests.patience import PATIENCE


def planned(param: pb.SolverParameter, folder: Path, strategy: str, size: int = 2) -> Path:
    Run(open_settings(param), parse(strategy), size, deadline=PATIENCE).settled().save(folder)
    return folder


def model(folder: Path) -> list[np.ndarray]:
    """Return all final blobs."""
    return [blob for blobs in arrays_of(read_net(folder / MODEL)).values() for blob in blobs]


def same(folder: Path, weights: Tensor) -> bool:
    """Return whether a run ended with these weights, which have gaps between them in memory."""
    found = {blob.tobytes() for blob in model(folder)}
    whole = weights.numpy().tobytes()
    return all(blob in whole for blob in found)


def workers_of(folder: Path) -> list[int]:
    """Return the processes of a run by rank. A worker keeps its log open."""
    workers = []
    for path in Path("/proc").glob("[0-9]*/fd/1"):
        with suppress(OSError):  # it just ended, or belongs to another user
            log = path.readlink()
            if log.parent == folder / "logs" and log.match("worker-*"):
                workers.append((log, int(path.parts[2])))
    return [process for _, process in sorted(workers)]


@pytest.mark.parametrize("launcher", [LocalLauncher(), MpiexecLauncher()], ids=lambda launcher: launcher.name)
def test_a_run_whose_workers_are_killed_ends_with_the_same_bits(
    param: pb.SolverParameter, run: Simulate, tmp_path: Path, launcher: Launcher
) -> None:
    """The moments are drawn at random. Each time the run reports which worker was lost, and its bits equal those of an
    undisturbed run."""
    param.max_iter = 60
    folder, draw, starts = planned(param, tmp_path / "run", "averaging:tau=3"), random.Random(5), []
    victims = [draw.randrange(2) for _ in range(2)]
    killed, rounds = victims[::-1], sorted(draw.sample(range(2, 18), 2))

    def told(what: Told) -> None:
        if isinstance(what, WorkersRestarted):
            starts.append(what)
        elif isinstance(what, RoundRecord) and rounds and what.number >= rounds[0]:
            rounds.pop(0)
            time.sleep(draw.random() * 0.05)
            os.kill(workers_of(folder)[victims.pop()], signal.SIGKILL)

    assert train(folder, launcher, told=told) is End.FINISHED
    assert [each.start for each in starts] == [2, 3]
    assert [each.reason.partition(";")[0] for each in starts] == [
        f"worker {rank} was lost: ended by SIGKILL" for rank in killed
    ]
    assert same(folder, run("averaging:tau=3").weights[0])
    assert not workers_of(folder)


def test_the_whole_tree_is_killed(param: pb.SolverParameter, run: Simulate, tmp_path: Path) -> None:
    param.max_iter = 300
    folder = planned(param, tmp_path / "run", "outer:tau=3")
    command = (
        "from pathlib import Path; from netdsl.distributed.launchers.local import LocalLauncher; "
        "from netdsl.distributed.supervisor import train; "
        f"train(Path({str(folder)!r}), LocalLauncher())"
    )
    process = subprocess.Popen([sys.executable, "-c", command], start_new_session=True)
    while not (folder / "rounds").exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(random.Random(7).random() * 0.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while workers_of(folder):  # the workers end without help
        time.sleep(0.02)
    assert train(folder, LocalLauncher()) is End.FINISHED
    assert same(folder, run("outer:tau=3").weights[0])


def test_a_stopped_run_resumes(param: pb.SolverParameter, run: Simulate, tmp_path: Path) -> None:
    param.max_iter = 3000
    folder, seen = planned(param, tmp_path / "run", "averaging:tau=3"), []
    ended = train(
        folder, LocalLauncher(), told=seen.append, requested=lambda: Action.STOP if len(seen) > 20 else Action.NONE
    )
    assert ended is End.STOPPED
    assert not (folder / MODEL).exists()
    reached = max(each.number for each in seen if isinstance(each, RoundRecord))
    numbers: list[int] = []
    wish = [Action.NONE]

    def told(what: Told) -> None:
        if isinstance(what, RoundRecord):
            numbers.append(what.number)
            wish[0] = Action.STOP

    train(folder, LocalLauncher(), told=told, requested=lambda: wish[0])
    assert numbers[0] == reached + 1


def test_an_error_of_a_worker_ends_the_run(param: pb.SolverParameter, tmp_path: Path) -> None:
    param.net_param.layer[0].transform_param.scale = 1e38
    folder = planned(param, tmp_path / "run", "averaging:tau=3")
    events: list[Told] = []
    with pytest.raises(DivergedError, match=r"worker \d: iteration \d+: the loss is (nan|inf)"):
        train(folder, LocalLauncher(), told=events.append)
    assert not any(isinstance(each, WorkersRestarted) for each in events)


def test_missing_data_are_reported(param: pb.SolverParameter, tmp_path: Path) -> None:
    param.net_param.layer[0].data_param.source = str(tmp_path / "nothing_lmdb")
    folder = planned(param, tmp_path / "run", "averaging")
    with pytest.raises(CaffeError, match=r"worker \d: layer 'data'.*nothing_lmdb"):
        train(folder, LocalLauncher())


def listening(process: int) -> set[str]:
    """Return the addresses, in hexadecimal digits, on which a process listens. There are none once it has ended."""
    sockets = set()
    with suppress(OSError):  # the process just ended
        for path in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):  # the descriptor was just closed
                sockets.add(str(path.readlink()))
    # the machine's tables, which outlive a process
    tables = (Path(f"/proc/self/net/{name}") for name in ("tcp", "tcp6"))
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


@pytest.mark.parametrize(("transport", "expected"), [(Transport.SHARED_MEMORY, set()), (Transport.GLOO, {"0100007F"})])
def test_no_process_listens_to_other_machines(
    param: pb.SolverParameter, tmp_path: Path, transport: Transport, expected: set[str]
) -> None:
    """The supervisor opens no port. Over gloo, workers connect to each other on 127.0.0.1 only."""
    param.max_iter = 9
    folder, addresses = tmp_path / "run", set[str]()
    Run(open_settings(param), parse("averaging:tau=3"), 2, transport=transport, deadline=PATIENCE).settled().save(
        folder
    )

    def told(what: Told) -> None:
        for process in (os.getpid(), *workers_of(folder)):
            addresses.update(listening(process))

    assert train(folder, LocalLauncher(), told=told) is End.FINISHED
    assert addresses == expected


def test_python_files_of_the_current_folder_are_not_run(
    param: pb.SolverParameter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("secrets", "torch", "msgspec"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    param.max_iter = 3
    assert train(planned(param, tmp_path / "run", "averaging:tau=3"), LocalLauncher()) is End.FINISHED
    assert not (tmp_path / "executed").exists()


class ThreePlaces(LocalLauncher):
    """A machine with room for three workers, whatever the real one is."""

    def room(self, run: Run) -> int:
        return run.fitting(3)


def test_a_lost_worker_rejoins_and_the_run_can_be_replayed(param: pb.SolverParameter, tmp_path: Path) -> None:
    param.max_iter = 100_000
    folder, killed = tmp_path / "run", list[int]()
    Run(open_settings(param), parse("outer:tau=20"), 3, deadline=PATIENCE, fewest=2).settled().save(folder)

    def told(what: Told) -> None:
        if isinstance(what, RoundRecord) and what.number == 3 and not killed:
            killed.append(workers_of(folder)[1])
            os.kill(killed[0], signal.SIGKILL)

    def requested() -> Action:
        """Stop once all three take part again."""
        memberships = read_memberships(folder)
        return Action.STOP if len(memberships) > 1 and memberships[-1].members == (0, 1, 2) else Action.NONE

    assert train(folder, ThreePlaces(), told=told, requested=requested) is End.STOPPED
    first, second, third = read_memberships(folder)
    assert [each.members for each in (first, second, third)] == [(0, 1, 2), (0, 2), (0, 1, 2)]
    assert 2 <= second.after < third.after  # of finished rounds, no more than one is lost
    last = Journal(folder / "rounds", Retention()).newest()
    assert last is not None and last.members == (0, 1, 2) and last.round > third.after
    assert states(last) == states(replayed(folder, tmp_path / "again", last))


def replayed(folder: Path, again: Path, last: JournalEntry) -> JournalEntry:
    """Simulate the same round of a run in which the same workers leave and join."""
    run, memberships = Run.load(folder), read_memberships(folder)
    reached = Journal(folder / "rounds", Retention()).read_part(last, last.parts[0]).iteration
    solver = run.solver.with_fields(max_iter=reached)
    replace(run, solver=solver, fewest=None, memberships=memberships).save(again)
    assert train(again, LocalLauncher()) is End.FINISHED
    assert read_memberships(again) == memberships
    entry = Journal(again / "rounds", Retention()).newest()
    assert entry is not None and entry.round == last.round
    return entry


def states(entry: JournalEntry) -> list[dict[str, bytes]]:
    """Return the tensors of all workers."""
    journal = Journal(entry.path.parent, Retention())
    return [
        {name: tensor.numpy().tobytes() for name, tensor in journal.read_tensors(entry, number).items()}
        for number in entry.parts
    ]
