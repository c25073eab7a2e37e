"""Examines the machines on which workers would train: what each has, and how long a buffer takes between them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import torch

from caffe_proto.errors import CaffeError
from netdsl.data.sources.open_source import parse_source
from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.heartbeat import WatchedCommunicator
from netdsl.distributed.control.interfaces import is_loopback, own_addresses
from netdsl.distributed.control.protocol import Ending
from netdsl.distributed.control.versions import Versions
from netdsl.distributed.journal import Membership, Retention
from netdsl.distributed.launcher import Launcher, WorkerSpec
from netdsl.distributed.run_place import run_copy
from netdsl.distributed.supervisor import watch
from netdsl.distributed.transports.connect import Connect, connect
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError, PeerLostError

BUFFER = 1 << 24  # bytes that each worker sends to the next one
_SMALL_TIMES, _LARGE_TIMES = 20, 2  # of which the shortest counts; the first one includes the beginning of a connection
_REQUEST = "examination.json"  # in the folder, with what to examine


class MachineExamination(msgspec.Struct, frozen=True):
    """What to examine, with the number of workers that do so."""

    workers: int
    transport: Transport
    data: tuple[str, ...] = ()  # names of data that the machines must have
    deadline: float = 30.0  # seconds without a sign of life after which a worker counts as lost
    fewest: None = None
    memberships: tuple[Membership, ...] = ()
    keeping: Retention = Retention()


class Way(msgspec.Struct, frozen=True):
    """The way from a worker to the next one."""

    latency: float  # seconds until a small buffer has arrived
    seconds: float  # until a large one has


class HostReport(msgspec.Struct, frozen=True):
    """What a worker found on its machine."""

    rank: int
    host: str
    versions: Versions
    devices: tuple[str, ...]
    addresses: tuple[str, ...]
    sees_folder: bool
    missing: Mapping[str, str]  # why data can't be found, by their names
    transport: str
    way: Way | None  # to the next worker, if there are others


def examine_machines(folder: Path, examination: MachineExamination, launcher: Launcher) -> list[HostReport]:
    """Let workers examine their machines, and return their reports, by rank.

    Raises a `DistributedError` if the workers don't meet.
    """
    reports = dict[int, HostReport]()

    def receive(contents: Mapping[str, Any]) -> None:
        try:
            report = msgspec.convert(contents, HostReport)
        except msgspec.ValidationError as problem:
            raise DistributedError(
                f"a worker sent an invalid report: {problem}; start all workers with the same version of netdsl"
            ) from None
        reports[report.rank] = report

    (folder / _REQUEST).write_bytes(msgspec.json.encode(examination.data))
    watch(folder, examination, launcher, receive)
    return [report for _, report in sorted(reports.items())]


def examine_machine(spec: WorkerSpec, *, connect: Connect = connect) -> None:
    """Examine this machine as one of the workers, and report to the supervisor."""
    with ControlClient(spec.control, spec.rank, spec.beat) as control:
        try:
            with control.pulse.waiting():
                join = control.await_join()
                if join is None:
                    return
                communicator = WatchedCommunicator(
                    connect(Transport(join.transport), control, spec.rank, spec.size, torch.device("cpu")),
                    control.pulse,
                )
            try:
                report = _report_of(spec, control, join.transport, way_to_next(communicator))
                control.report(msgspec.to_builtins(report))
                communicator.barrier()
            finally:
                communicator.close()
        except PeerLostError as problem:
            control.report_end(Ending.LOST, str(problem))
            raise
        except CaffeError as problem:
            control.report_end(Ending.FAILED, str(problem))
            raise
        control.report_end(Ending.DONE)


def way_to_next(communicator: Communicator) -> Way | None:
    """Measure the way to the next worker, if there is one. Workers take turns, and each buffer is answered."""
    if communicator.size == 1:
        return None
    small, large, way = torch.zeros(1), torch.zeros(BUFFER // 4), None
    for sender in range(communicator.size):
        receiver = (sender + 1) % communicator.size
        communicator.barrier()
        if communicator.rank == sender:
            there_and_back = [_answered(communicator, small, receiver) for _ in range(_SMALL_TIMES)]
            latency = min(there_and_back) / 2
            way = Way(latency, min(_answered(communicator, large, receiver) for _ in range(_LARGE_TIMES)) - latency)
        elif communicator.rank == receiver:
            for buffer, times in ((small, _SMALL_TIMES), (large, _LARGE_TIMES)):
                for _ in range(times):
                    communicator.receive(buffer, source=sender).wait()
                    communicator.send(small, to=sender).wait()
    return way


def _answered(communicator: Communicator, buffer: torch.Tensor, receiver: int) -> float:
    """Send a buffer, and return the seconds until a small answer has arrived."""
    begun = time.monotonic()
    communicator.send(buffer, to=receiver).wait()
    communicator.receive(torch.empty(1), source=receiver).wait()
    return time.monotonic() - begun


def _report_of(spec: WorkerSpec, control: ControlClient, transport: str, way: Way | None) -> HostReport:
    request = Path(spec.run) / _REQUEST
    sees_folder = request.exists()
    with ExitStack() as stack:
        if not sees_folder:
            copy = stack.enter_context(run_copy(control.open_files(), spec.run))
            copy.fetch(_REQUEST)
            request = copy.folder / _REQUEST
        names = msgspec.json.decode(request.read_bytes(), type=tuple[str, ...])
    addresses = (address.ip for address in own_addresses() if not is_loopback(address.ip))
    missing = {name: why for name in names if (why := _problem_with(name))}
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return HostReport(
        spec.rank,
        socket.gethostname(),
        Versions.here(),
        tuple(gpus or [f"{os.cpu_count()} cores"]),
        tuple(addresses),
        sees_folder,
        missing,
        transport,
        way,
    )


def _problem_with(name: str) -> str:
    """Return why data can't be found here. Returns an empty string if they can."""
    try:
        source = parse_source(name)
    except CaffeError as problem:
        return str(problem)
    if source.path and "://" not in source.path and not Path(source.path).exists():
        return f"{source.path} doesn't exist"
    return ""
