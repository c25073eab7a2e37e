"""The launchers for MPI. One starts mpiexec on this machine, and the other finds a user's ranks on any machines."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec
import numpy as np

from netdsl.distributed.control.place import NetworkPlace, Ports
from netdsl.distributed.launcher import Workers, WorkerSpec, ending_of, last_words, log_of
from netdsl.distributed.launchers.external import ExternalLauncher, lead, place_for
from netdsl.distributed.launchers.rendezvous import UNREACHABLE, Rendezvous, reached
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.supervisor import End
from netdsl.errors import DistributedError
from netdsl.mpi.communicator import connect
from netdsl.mpi.ending import end_all_ranks_at_exit
from netdsl.mpi.installation import SETTINGS, mpiexec
from netdsl.mpi.library import forget_shared_memory, mpi, world
from netdsl.ranks import Ranks

COMMAND = [sys.executable, "-P", "-m", "netdsl.mpi.worker_process"]
_RANK = re.compile(r"^worker (\d+) is process (\d+)$", re.MULTILINE)  # the line that each rank writes
_FIRST_LOST = re.compile(r"\bPID (\d+)")  # the process whose end made mpiexec end the others, in mpiexec's words
_SIGNAL = re.compile(r"\bsignal (\d+)")  # the signal that ended it
_LEAVE = 5.0  # seconds for mpiexec to end its ranks
Result = TypeVar("Result")
_GRACE = 30.0  # seconds for the first rank to report the problem and end all others


class MpiexecLauncher:
    """Starts mpiexec, and starts it again when a rank is lost, since mpiexec then ends all others."""

    name: ClassVar[str] = "mpi"
    restarts: ClassVar[bool] = True
    regroups: ClassVar[bool] = False
    place: NetworkPlace | None = None

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with a transport that suits the workers' devices. Raises an error if mpiexec isn't
        installed."""
        mpiexec()
        check_number(run)
        return run.with_transport(per_machine=run.workers, mpi=True)

    def room(self, run: Run) -> int:
        """Return the number of workers."""
        return run.workers

    def start(self, spec: WorkerSpec) -> MpiexecWorkers:
        """Start all workers."""
        return MpiexecWorkers(spec)


class MpiexecWorkers(Workers):
    """The ranks of one mpiexec. Each has a log. mpiexec's log contains its own output and the ranks' process
    numbers."""

    sees_endings: ClassVar[bool] = True

    def __init__(self, spec: WorkerSpec) -> None:
        self._run, self._size = Path(spec.run), spec.size
        self._log = self._run / "logs" / "mpiexec.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._log.open("wb") as output:
                self._process = subprocess.Popen(
                    [mpiexec(), "-n", str(spec.size), *COMMAND],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    env={**SETTINGS, **os.environ},
                    process_group=0,  # the supervisor handles a terminal's Ctrl-C
                )
        except OSError as problem:
            raise DistributedError(
                f"mpiexec can't be started: {problem}; run pip install 'netdsl[mpi]', or load your cluster's MPI"
            ) from None
        assert self._process.stdin is not None
        with (
            suppress(BrokenPipeError),
            self._process.stdin as pipe,
        ):  # if the process has ended, the supervisor notices that
            pipe.write(spec.text().encode() + b"\n")

    def endings(self) -> Mapping[int, str]:
        """Return how the ranks ended, which they all do together."""
        code = self._process.poll()
        if code is None:
            return {}
        first = self.first_lost()
        if first is None:
            return dict.fromkeys(range(self._size), f"mpiexec {ending_of(code)}")
        signaled = _SIGNAL.search(self._log.read_text(errors="replace"))
        how = ending_of(-int(signaled[1]) if signaled else code)
        return dict.fromkeys(range(self._size), "mpiexec ended it") | {first: how}

    def first_lost(self) -> int | None:
        """Return the rank whose end made mpiexec end the others."""
        text = self._log.read_text(errors="replace")
        ranks = {process: int(rank) for rank, process in _RANK.findall(text)}
        lost = _FIRST_LOST.search(text)
        return None if lost is None else ranks.get(lost[1])

    def last_words(self, rank: int) -> str:
        """Return the last lines of a worker's log."""
        log = log_of(self._run, rank)
        return last_words(log) if log.exists() else ""

    def problem(self) -> str:
        """Return the last output of mpiexec, unless it is about the end of a rank."""
        ended = self._process.poll() is not None
        return f"mpiexec failed: {last_words(self._log)}" if ended and self.first_lost() is None else ""

    def close(self) -> None:
        """End mpiexec, which ends all ranks. Ranks that it misses end without their supervisor."""
        self._process.terminate()
        try:
            self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def check_number(run: Run) -> None:
    """Raise a `DistributedError` for an elastic run."""
    if run.fewest is not None:
        raise DistributedError("mpiexec ends all ranks when one is lost; give one number of workers, not a range")


def this_rank() -> Ranks:
    """Return the ranks of this process in MPI."""
    ranks = world()
    node = ranks.Split_type(mpi().COMM_TYPE_SHARED)
    found = Ranks(ranks.rank, ranks.size, node.rank, node.size)
    node.Free()
    return found


def share(spec: WorkerSpec | None) -> WorkerSpec:
    """Return the first rank's spec with this rank in it. All ranks must call this, all but the first with `None`.

    Raises a `DistributedError` in all ranks if some can't reach the supervisor, with the reasons of all of these.
    """
    forget_shared_memory()
    worker = this_rank()
    spec = WorkerSpec.of(share_text(None if spec is None else spec.text()))
    problem = ""
    try:
        spec = reached(spec)
    except OSError as error:
        problem = f"worker {worker.rank} on {socket.gethostname()} can't reach the first worker: {error}"
    problems = list(filter(None, gather_texts(problem)))
    if problems:
        raise DistributedError("; ".join([*problems, UNREACHABLE]))
    return msgspec.structs.replace(spec, rank=worker.rank, local_rank=worker.local_rank)


def gather_texts(text: str) -> list[str]:
    """Return the texts of all ranks, in their order. All ranks must call this."""
    data = np.frombuffer(text.encode(), np.uint8)
    lengths = np.zeros(world().size, np.int64)
    world().Allgather(np.array([data.size]), lengths)
    together = np.empty(int(lengths.sum()), np.uint8)
    world().Allgatherv(data, [together, lengths])
    return [part.tobytes().decode() for part in np.split(together, np.cumsum(lengths)[:-1])]


def share_text(text: str | None) -> str:
    """Return the first rank's text. All ranks must call this, all but the first with `None`."""
    data = np.frombuffer(b"" if text is None else text.encode(), np.uint8)
    length = np.array([data.size])
    world().Bcast(length)
    received = data if world().rank == 0 else np.empty(length[0], np.uint8)
    world().Bcast(received)
    return received.tobytes().decode()


class RankLauncher(ExternalLauncher):
    """Finds the ranks, and sends them the spec over MPI."""

    name: ClassVar[str] = "mpi"
    regroups: ClassVar[bool] = False
    mpi: ClassVar[bool] = True

    def __init__(self, worker: Ranks, place: NetworkPlace | None, processes: list[str], hosts: list[str]) -> None:
        super().__init__(worker, Rendezvous(place))
        self._processes, self._hosts = processes, hosts

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with a transport that suits the workers' devices."""
        check_number(run)
        run = super().prepare(folder, run, note)
        several = len({*self._hosts}) > 1
        names = [
            f"{process} on {host}" if several else process
            for process, host in zip(self._processes, self._hosts, strict=True)
        ]
        note(
            f"the workers are processes {', '.join(names)}, in the order of ranks; mpiexec names a lost worker by its "
            "process number"
        )
        return run

    def hosts(self) -> Mapping[int, str]:
        """Return the hosts of the ranks."""
        return dict(enumerate(self._hosts))


def train_as_rank(
    supervise: Callable[[ExternalLauncher], End], address: str | None = None, ports: Ports | None = None
) -> End | None:
    """Do this rank's part of a run. In the first rank, `supervise` watches all workers from a thread."""
    return take_part(supervise, partial(run_worker, connect=connect), address, ports)


def take_part(
    supervise: Callable[[ExternalLauncher], Result],
    work: Callable[[WorkerSpec], object],
    address: str | None = None,
    ports: Ports | None = None,
) -> Result | None:
    """Do this rank's part of some work, which receives a spec. The first rank supervises as well.

    If the work fails, the first rank ends all others at its own end. Until then the others wait, so that mpiexec
    doesn't end any rank before the problem is reported.
    """
    worker = this_rank()
    processes, hosts = gather_texts(str(os.getpid())), gather_texts(socket.gethostname())
    try:
        if worker.rank == 0:
            launcher = RankLauncher(worker, place_for(worker, address, ports), processes, hosts)
            return lead(launcher, supervise, lambda spec: work(share(spec)))
        work(share(None))
    except BaseException:
        if worker.rank:
            time.sleep(_GRACE)
        else:
            end_all_ranks_at_exit()
        raise
    return None
