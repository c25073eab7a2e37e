"""The ranks of a script. They are started here, or another program has started them."""

from __future__ import annotations

import os
import sys
import traceback
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import torch

from caffe_proto.storage import PRIVATE, create_folder, write_pieces
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.heartbeat import WatchedCommunicator
from netdsl.distributed.control.place import Ports
from netdsl.distributed.control.protocol import Ending
from netdsl.distributed.journal import Membership, Retention
from netdsl.distributed.launcher import WorkerSpec, log_of
from netdsl.distributed.launchers.external import ExternalLauncher, rendezvous_of_workers, take_part, worker_in
from netdsl.distributed.launchers.local import LocalLauncher, Shown
from netdsl.distributed.run_worker import compute_threads
from netdsl.distributed.supervisor import watch
from netdsl.distributed.transports.connect import Connect, connect
from netdsl.distributed.transports.transport import Transport, is_memory_shareable
from netdsl.errors import DistributedError, PeerLostError
from netdsl.ranks import share_of_cores, working_together
from netdsl.transparent.script import Script, run_script

_PLAN_FILE = "script.json"
_VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
COMMAND = [sys.executable, "-P", "-m", "netdsl.transparent.worker_process"]
_HASHES = "PYTHONHASHSEED"  # determines the order of sets of strings, which must be the same for all ranks


def run_locally(script: Script, folder: Path | None, *, workers: int, deadline: float) -> None:
    """Run a script as several processes on this machine. Their logs are in the folder, if there is one."""
    os.environ.setdefault(_HASHES, "0")
    shown = Shown.ALL if script.all_output else Shown.FIRST
    # The launcher kills ranks, which then can't remove their files themselves.
    with TemporaryDirectory(prefix="zoo-run-") as temporary:
        transport, cores = _transport_between(workers, workers), share_of_cores(workers)
        plan = ScriptPlan(script, workers, transport, cores, deadline, temporary)
        logs = folder or Path(temporary)
        plan.save(logs)
        watch(logs, plan, LocalLauncher(COMMAND, shown))


def run_as_worker(
    script: Script, folder: Path, *, deadline: float, address: str | None = None, ports: Ports | None = None
) -> None:
    """Run a script as the worker that the environment describes.

    All workers find each other in a shared folder. On several machines, they meet at an address and a port of the first
    worker's machine that the user may name.
    """
    worker = worker_in(os.environ)
    transport, cores = _transport_between(worker.size, worker.local_size), share_of_cores(worker.local_size)
    plan = ScriptPlan(script, worker.size, transport, cores, deadline)
    if worker.rank and not script.all_output:
        keep_output(log_of(folder, worker.rank))

    def supervise(launcher: ExternalLauncher) -> None:
        plan.save(folder)  # this creates the folder in which the others wait for the launcher's spec
        watch(folder, plan, launcher)

    take_part(rendezvous_of_workers(folder, address, ports), supervise, partial(run_rank, plan=plan))


def _transport_between(workers: int, per_machine: int) -> Transport:
    """Return the transport for buffers in main memory, since ranks exchange there even if the script's tensors are on
    GPUs."""
    is_one_machine = workers == per_machine and is_memory_shareable()
    return Transport.SHARED_MEMORY if is_one_machine else Transport.GLOO


def keep_output(log: Path) -> None:
    """Redirect this process's standard output to a file."""
    create_folder(log.parent, PRIVATE)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)


class ScriptPlan(msgspec.Struct, frozen=True):
    """A script, the number of workers that run it, and the number of threads of each worker."""

    script: Script
    workers: int
    transport: Transport
    threads: int
    deadline: float
    private: str | None = None  # the folder for files that only one rank sees, which is removed afterwards
    fewest: None = None  # a script can't continue without a lost worker
    memberships: tuple[Membership, ...] = ()
    keeping: Retention = Retention()

    def save(self, folder: Path) -> None:
        """Write the plan to a folder, in which the workers find it."""
        create_folder(folder, PRIVATE)
        write_pieces(folder / _PLAN_FILE, [msgspec.json.encode(self)])

    @classmethod
    def load(cls, folder: Path) -> ScriptPlan:
        """Load the plan from a folder."""
        return msgspec.json.decode((folder / _PLAN_FILE).read_bytes(), type=cls)


def run_rank(spec: WorkerSpec, plan: ScriptPlan, *, connect: Connect = connect) -> None:
    """Run a script as one rank, and report to the supervisor how it ended. `connect` returns the rank's
    communicator."""
    with ControlClient(spec.control, spec.rank, spec.beat) as control:
        try:
            with control.pulse.waiting():
                join = control.await_join()  # returns when all ranks are connected
                if join is None:
                    return
                _choose_gpu(spec.local_rank)
                communicator = WatchedCommunicator(
                    connect(Transport(join.transport), control, spec.rank, spec.size, torch.device("cpu")),
                    control.pulse,
                )
            try:
                with working_together(), compute_threads(plan.threads):
                    run_script(plan.script, communicator, plan.private)
                communicator.barrier()  # until here, others may still send requests to the first worker
            finally:
                communicator.close()
        except PeerLostError as problem:
            control.report_end(Ending.LOST, str(problem))
            raise
        except DistributedError as problem:
            control.report_end(Ending.FAILED, str(problem))
            raise
        except SystemExit as problem:
            control.report_end(Ending.CRASHED, f"the script ended with exit code {problem.code}")
            raise
        except BaseException as problem:
            traceback.print_exception(_without_our_frames(problem))
            sys.stderr.flush()
            control.report_end(Ending.CRASHED, f"{type(problem).__name__}: {problem}")
            raise SystemExit(1) from None
        sys.stdout.flush()  # the supervisor ends a process that has reported its end
        control.report_end(Ending.DONE)


def _without_our_frames(problem: BaseException) -> BaseException:
    """Return the error with only the script's part of the traceback, as plain Python shows it."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") != "__main__":
        trace = trace.tb_next
    return problem if trace is None else problem.with_traceback(trace)


def _choose_gpu(local_rank: int) -> None:
    """Let the script see only one GPU of this machine if there are several. The script sees it as the first one."""
    names = [name for name in os.environ.get(_VISIBLE_GPUS, "").split(",") if name]
    names = names or [str(index) for index in range(torch.cuda.device_count())]
    if len(names) > 1:
        os.environ[_VISIBLE_GPUS] = names[local_rank % len(names)]
