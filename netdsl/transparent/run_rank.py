"""A worker that is one rank of a script."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import msgspec
import torch

from caffe_proto.storage import write_pieces
from netdsl.distributed.journal import Retention
from netdsl.distributed.launchers.launcher import WorkerSpec
from netdsl.distributed.membership import Membership
from netdsl.distributed.run_worker import compute_threads
from netdsl.distributed.supervision.control_client import ControlClient
from netdsl.distributed.supervision.heartbeat import WatchedCommunicator
from netdsl.distributed.supervision.protocol import Ending
from netdsl.distributed.transports.connect import Connect, connect
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError, PeerLostError
from netdsl.transparent.script import Script, run_script

_FILE = "script.json"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class ScriptPlan(msgspec.Struct, frozen=True):
    """A script and how many workers run it, each with so many threads."""

    script: Script
    workers: int
    transport: Transport
    threads: int
    deadline: float
    fewest: None = None  # workers that are lost can't be done without
    memberships: tuple[Membership, ...] = ()
    keeping: Retention = Retention()

    def save(self, folder: Path) -> None:
        """Write the plan for workers, which find it in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        write_pieces(folder / _FILE, [msgspec.json.encode(self)])

    @classmethod
    def load(cls, folder: Path) -> ScriptPlan:
        """The plan that a folder has."""
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=cls)


def run_rank(spec: WorkerSpec, plan: ScriptPlan, *, connect: Connect = connect) -> None:
    """Run a script as one rank, and tell the supervisor how that ended. `connect` makes the rank's communicator."""
    with ControlClient(spec.control, spec.rank, spec.beat) as control:
        try:
            with control.pulse.waiting():
                control.await_join()  # until all are there
                _choose_gpu(spec.local_rank)
                communicator = WatchedCommunicator(
                    connect(Transport(spec.transport), control, spec.rank, spec.size, torch.device("cpu")),
                    control.pulse,
                )
            try:
                with compute_threads(plan.threads):
                    run_script(plan.script, communicator)
                communicator.barrier()  # nobody leaves while others may still ask the first one for something
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
        sys.stdout.flush()  # the supervisor ends a process that has said it is done
        control.report_end(Ending.DONE)


def _without_our_frames(problem: BaseException) -> BaseException:
    """The error with what the script itself did, as plain Python shows it."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") != "__main__":
        trace = trace.tb_next
    return problem if trace is None else problem.with_traceback(trace)


def _choose_gpu(local_rank: int) -> None:
    """Let the script see one GPU of this machine, which to it is the first; if there are several."""
    names = [name for name in os.environ.get(_VISIBLE, "").split(",") if name]
    names = names or [str(index) for index in range(torch.cuda.device_count())]
    if len(names) > 1:
        os.environ[_VISIBLE] = names[local_rank % len(names)]
