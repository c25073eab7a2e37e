"""The external launcher under torchrun with two workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.control.place import NetworkPlace, Ports
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.journal import Retention, read_memberships
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers import external
from netdsl.distributed.launchers.external import (
    ExternalLauncher,
    lead,
    rendezvous_of_workers,
    worker_in,
)
from netdsl.distributed.launchers.rendezvous_in_folder import FolderRendezvous
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError, PeerLostError
from netdsl.ranks import Ranks
from netdsl.solver.settings import open_settings
from tests.patience import PATIENCE

ZOO = Path(sys.executable).with_name("zoo")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]


def torchrun(*words: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([*TORCHRUN, *map(str, words)], capture_output=True, text=True, env=environment)


@pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")
def test_zoo_train_runs_under_torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["train", "lenet", "--data", "digits", "--max-iter", "4", "--backend", "external", "--run", "run"]
    done = torchrun("--no-python", "--", ZOO, *words, "--strategy", "averaging:tau=2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("training ") == 1  # only the first worker reports progress
    assert (tmp_path / "run" / MODEL).exists()
    assert not (tmp_path / "run" / "control.json").exists()


def test_a_lost_worker_ends_the_run_with_advice_on_how_to_resume(param: pb.SolverParameter, tmp_path: Path) -> None:
    param.max_iter = 100_000
    run = tmp_path / "run"
    Run(open_settings(param), parse("averaging:tau=2"), 2, deadline=PATIENCE).settled().save(run)
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, threading, time; from pathlib import Path\n"
        "from netdsl.distributed.launchers.external import rendezvous_of_workers, train_as_worker\n"
        "from netdsl.distributed.supervisor import train\n"
        "folder = Path(sys.argv[1])\n"
        "def leave():\n"
        "    while not (folder / 'rounds').exists(): time.sleep(0.01)\n"
        "    os._exit(5)\n"
        "if os.environ['RANK'] == '1': threading.Thread(target=leave, daemon=True).start()\n"
        "rendezvous = rendezvous_of_workers(folder)\n"
        "try: train_as_worker(rendezvous, lambda launcher: train(folder, launcher))\n"
        "except Exception as problem: (folder / 'problem').write_text(str(problem)); raise\n"
    )
    environment = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(program), str(run)],
            env={**os.environ, **environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.DEVNULL,
        )
        for rank in range(2)
    ]
    assert [process.wait(180) for process in processes] == [1, 5]
    problem = (run / "problem").read_text()
    assert "worker 1 was lost" in problem
    assert problem.endswith(f"start all workers again, as with: zoo train --resume {run}")


def test_workers_are_distinguished_by_their_environment() -> None:
    torch = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "MASTER_ADDR": "node0"}
    assert worker_in(torch) == Ranks(5, 8, 1, 4)
    slurm = {"SLURM_PROCID": "2", "SLURM_NTASKS": "3", "SLURM_LOCALID": "0", "SLURM_NTASKS_PER_NODE": "3"}
    assert worker_in(slurm) == Ranks(2, 3, 0, 3)


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[WorkerSpec]:
    """Return the spec of a run whose supervisor listens at 127.0.0.2."""
    with ControlServer(NetworkPlace.at("127.0.0.2"), 2) as server:
        yield WorkerSpec(str(tmp_path), str(tmp_path), 2, server.address(), 1.0)


def test_the_supervisor_learns_why_its_own_worker_ended(tmp_path: Path, spec: WorkerSpec) -> None:
    """It would wait for that worker to connect otherwise."""
    launcher = ExternalLauncher(Ranks(0, 2), FolderRendezvous(tmp_path))

    def supervise(launcher: ExternalLauncher) -> str:
        launcher.start(spec)
        until = time.monotonic() + PATIENCE
        while not launcher.endings() and time.monotonic() < until:
            time.sleep(0.01)
        launcher.close()
        return launcher.endings()[0]

    def work(spec: WorkerSpec) -> None:
        raise PeerLostError("the control server can't be reached")

    assert lead(launcher, supervise, work) == "ended: the control server can't be reached"


def test_workers_of_one_machine_meet_at_a_local_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "node0")
    assert external.place_for(Ranks(0, 2, 0, 2)) is None
    apart = external.place_for(Ranks(0, 2, 0, 1))
    assert apart is not None and apart.hosts[0] == "node0" and socket.gethostname() in apart.hosts
    named = external.place_for(Ranks(0, 2, 0, 2), "127.0.0.1", Ports(7000, 7001))
    assert named is not None and (named.bound, named.ports) == ("127.0.0.1", (7000, 7001))


@pytest.mark.parametrize(("local", "transport"), [(4, Transport.SHARED_MEMORY), (2, Transport.GLOO)])
def test_the_transport_follows_from_the_machines(param: pb.SolverParameter, local: int, transport: Transport) -> None:
    launcher = ExternalLauncher(Ranks(0, 4, 0, local), FolderRendezvous(Path("run")))
    assert launcher.prepare(Path("run"), Run(open_settings(param), workers=4), print).transport is transport


def test_a_run_without_started_workers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        DistributedError,
        match=r"RANK and WORLD_SIZE aren't set, .*; start the workers with a launcher that sets them, as in `torchrun",
    ):
        rendezvous_of_workers(Path("run"))


def test_a_different_number_of_workers_is_refused(param: pb.SolverParameter) -> None:
    launcher = ExternalLauncher(Ranks(0, 2, 0, 2), FolderRendezvous(Path("run")))
    with pytest.raises(DistributedError, match=r"the run has 3 workers, but 2 were started; .* add --workers 2"):
        launcher.prepare(Path("run"), Run(open_settings(param), workers=3), print)


def test_a_late_worker_joins_and_a_lost_one_is_left_out(param: pb.SolverParameter, tmp_path: Path) -> None:
    param.max_iter = 100_000
    run = tmp_path / "run"
    keeping = Retention(newest=9)  # entries stay long enough to be read
    Run(
        open_settings(param), parse("averaging:tau=20"), 3, deadline=PATIENCE, fewest=2, keeping=keeping
    ).settled().save(run)
    program = tmp_path / "program.py"
    program.write_text(
        "import sys; from pathlib import Path\n"
        "from netdsl.distributed.launchers.external import rendezvous_of_workers, train_as_worker\n"
        "from netdsl.distributed.journal import Journal, Retention\n"
        "from netdsl.distributed.supervisor import train\n"
        "from netdsl.solver.events import Action\n"
        "folder, seen = Path(sys.argv[1]), set()\n"
        "def requested():\n"
        "    entry = Journal(folder / 'rounds', Retention()).newest()\n"
        "    if entry: seen.add(entry.members)\n"
        "    for name, members in {'begun': (0, 1), 'joined': (0, 1, 2)}.items():\n"
        "        if members in seen: folder.with_name(name).touch()\n"
        "    return Action.STOP if {(0, 1, 2), (0, 2)} <= seen else Action.NONE\n"
        "rendezvous = rendezvous_of_workers(folder)\n"
        "train_as_worker(rendezvous, lambda launcher: train(folder, launcher, requested=requested))\n"
    )

    def start(rank: int) -> subprocess.Popen[bytes]:
        settings = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "RANK": str(rank), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([sys.executable, str(program), str(run)], env={**os.environ, **settings})

    def await_file(path: Path) -> None:
        while not path.exists():
            assert processes[0].poll() is None
            time.sleep(0.1)

    processes = [start(0), start(1)]
    try:
        await_file(tmp_path / "begun")
        processes.append(start(2))
        await_file(tmp_path / "joined")  # the supervisor itself has seen the round of all
        processes[1].kill()
        assert [process.wait(PATIENCE) for process in processes] == [0, -signal.SIGKILL, 0]
    finally:
        for process in processes:
            process.kill()
    assert [each.members for each in read_memberships(run)] == [(0, 1), (0, 1, 2), (0, 2)]
