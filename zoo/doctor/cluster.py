"""The machines of a cluster, which the launcher of a training examines with one worker for each of a training."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from caffe_proto.storage import create_folder
from netdsl.distributed.control.versions import differences
from netdsl.distributed.hosts import BUFFER, HostReport, MachineExamination, examine_machine, examine_machines
from netdsl.distributed.launcher import Launcher
from netdsl.distributed.launchers.external import ExternalLauncher, rendezvous_of_workers, take_part, worker_in
from netdsl.distributed.transports.transport import Transport
from netdsl.planner.units import format_seconds
from netdsl.ranks import Ranks
from zoo.doctor.results import CheckResult, Diagnosis, Verdict, diagnosis_of
from zoo.requests.machine import DoctorRequest

_FOLDER = "cluster-examination"  # in the run's folder
_SLOW = 50e6  # bytes per second, below which a network is called slow: half of 1 Gbit/s

Reports = list[HostReport]


def examine_cluster(request: DoctorRequest) -> Diagnosis | None:
    """Examine the machines of a cluster. Returns `None` in a worker that another process supervises."""
    assert request.folder is not None
    folder = request.folder.resolve() / _FOLDER
    match request.started_by:
        case "mpi":
            reports = _examine_with_mpi(request, folder)
        case "spark":
            reports = _examine_on_spark(request, folder)
        case _:
            worker = worker_in(os.environ)
            transport = Transport.GLOO if worker.on_several_machines else Transport.SHARED_MEMORY
            supervise = partial(_supervise, request, folder, transport, worker)
            rendezvous = rendezvous_of_workers(folder, request.address, request.ports)
            reports = take_part(rendezvous, supervise, examine_machine)
    return None if reports is None else diagnosis_of(_results(reports, request.folder, request.data))


def _examine_with_mpi(request: DoctorRequest, folder: Path) -> Reports | None:
    from netdsl.mpi.communicator import connect
    from netdsl.mpi.launcher import take_part, this_rank

    supervise = partial(_supervise, request, folder, Transport.MPI, this_rank())
    return take_part(supervise, partial(examine_machine, connect=connect), request.address, request.ports)


def _examine_on_spark(request: DoctorRequest, folder: Path) -> Reports:
    from netdsl.spark.backend import SparkBackend
    from netdsl.spark.launcher import SparkLauncher

    assert request.workers is not None
    with SparkBackend(request.master, request.workers).session() as session:
        examination = MachineExamination(request.workers, Transport.GLOO, request.data)
        return _examine(folder, examination, SparkLauncher(session, examine_machine))


def _supervise(
    request: DoctorRequest, folder: Path, transport: Transport, worker: Ranks, launcher: ExternalLauncher
) -> Reports:
    return _examine(folder, MachineExamination(worker.size, transport, request.data), launcher)


def _examine(folder: Path, examination: MachineExamination, launcher: Launcher) -> Reports:
    create_folder(folder)
    return examine_machines(folder, examination, launcher)


def _results(reports: Reports, folder: Path, data: Sequence[str]) -> Iterator[CheckResult]:
    """Yield what the workers found, as results about machines, versions, storage, data and the network."""
    for report in reports:
        versions, addresses = report.versions, ", ".join(report.addresses) or "no address"
        fact = (
            f"Python {versions.python}, netdsl {versions.netdsl}, torch {versions.torch}; "
            f"{', '.join(report.devices)}; {addresses}"
        )
        yield CheckResult("machines", _name(report), Verdict.GOOD, fact)
    found = differences({report.host: report.versions for report in reports})
    if found.minor:
        yield CheckResult("machines", "versions", Verdict.LIMITED, found.minor)
    sightless = ", ".join(dict.fromkeys(report.host for report in reports if not report.sees_folder))
    verdict, fact = Verdict.GOOD, "all machines share it"
    if sightless:
        verdict, fact = Verdict.LIMITED, f"not on {sightless}, so a run's files go over the network"
    yield CheckResult("storage", str(folder), verdict, fact)
    for name in data:
        yield _common_result("data", name, reports, partial(_missing, name), "all have it")
    yield from _network_results(reports)


def _common_result(
    group: str, part: str, reports: Reports, problem_of: Callable[[HostReport], str], good: str
) -> CheckResult:
    """Return the result about something that all machines must have, which names those that don't."""
    hosts = defaultdict[str, dict[str, None]](dict)  # in order, by their problem
    for report in reports:
        if problem := problem_of(report):
            hosts[problem][report.host] = None
    if not hosts:
        return CheckResult(group, part, Verdict.GOOD, good)
    facts = (f"not on {', '.join(names)}: {problem}" for problem, names in hosts.items())
    return CheckResult(group, part, Verdict.WRONG, "; ".join(facts))


def _missing(name: str, report: HostReport) -> str:
    return report.missing.get(name, "")


def _network_results(reports: Reports) -> Iterator[CheckResult]:
    wanted = {report.transport for report in reports}
    if Transport.RELAY.value in wanted:
        yield CheckResult(
            "network", "transport", Verdict.LIMITED, "some workers can't reach each other, so all use the relay",
            "open all ports between the machines",
        )  # fmt: skip
    ways = list(zip(reports, [*reports[1:], *reports[:1]], strict=True))
    for sender, receiver in ways:
        if sender.way is not None:
            speed = BUFFER / sender.way.seconds
            verdict = Verdict.LIMITED if sender.host != receiver.host and speed < _SLOW else Verdict.GOOD
            fact = (
                f"16 MB in {sender.way.seconds:.3f} s ({speed / 1e6:.0f} MB/s) over {sender.transport}, latency "
                f"{format_seconds(sender.way.latency)}"
            )
            advice = "" if verdict is Verdict.GOOD else "this is slow; see docs/several_workers.md for large models"
            yield CheckResult("network", f"{_name(sender)} to {_name(receiver)}", verdict, fact, advice)
    between = [sender.way for sender, receiver in ways if sender.host != receiver.host and sender.way is not None]
    if between:
        megabytes = BUFFER / max(way.seconds for way in between) / 1e6
        latency = max(way.latency for way in between)
        options = f"--bandwidth {megabytes:.3g}MB --latency {1e6 * latency:.0f}us"
        yield CheckResult("network", "for zoo plan and zoo simulate", Verdict.GOOD, options)


def _name(report: HostReport) -> str:
    return f"worker {report.rank} on {report.host}"
