"""What a task looks at before a run begins: that its machine has all that a worker needs."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import torch

from netdsl.distributed.supervision.control_client import ControlClient
from netdsl.errors import PeerLostError
from netdsl.spark.workers.rendezvous import met
from netdsl.spark.workers.transport import Transport
from netdsl.spark.workers.worker_spec import SparkWorkerSpec

_MEET = 30.0  # seconds for the others to be reached


@dataclass(frozen=True)
class Versions:
    """Of what must be the same everywhere."""

    netdsl: str
    torch: str

    @classmethod
    def here(cls) -> Versions:
        """Those of this machine."""
        return cls(version("netdsl"), torch.__version__)


def examine(text: str, versions: Versions, probe: str, ranks: Iterable[int]) -> Iterator[tuple[str, bool]]:
    """Say what is wrong here, if something is, and whether that only keeps peers apart."""
    place, (rank,) = SparkWorkerSpec.of(text), ranks
    host = socket.gethostname()
    for problem in (_other_versions(versions), _unseen(place, probe, rank)):
        if problem:
            yield f"{host}: {problem}", False
    try:
        with ControlClient(place, rank) as channel:
            apart = _apart(place, rank, channel.address) if place.transport is Transport.PEER else ""
        if apart:
            yield f"{host}: {apart}", True
    except PeerLostError as problem:
        way = "open the network from executors to the driver, or set spark.driver.host to an address they reach"
        yield f"{host}: {problem}; {way}", False


def _other_versions(driver: Versions) -> str:
    ours, theirs = asdict(Versions.here()), asdict(driver)
    other = [f"{name} is {ours[name]}, and {theirs[name]} at the driver" for name in ours if ours[name] != theirs[name]]
    return f"{'; '.join(other)}; install the same everywhere" if other else ""


def _unseen(place: SparkWorkerSpec, probe: str, rank: int) -> str:
    """Whether the driver's folders are here, at the same path, and can be written to."""
    if not Path(place.folder).is_dir():
        return f"there is no folder {place.folder}, where training was begun; begin it in one that all machines share"
    seen = Path(place.run, probe)
    if not seen.is_dir():
        return f"the run's folder {place.run} isn't the one that the driver sees; put it on storage that all share"
    try:
        (seen / str(rank)).touch()
    except OSError as problem:
        return f"the run's folder {place.run} can't be written to: {problem.strerror}; let user {os.getuid()} do so"
    return ""


def _apart(place: SparkWorkerSpec, rank: int, address: str) -> str:
    """Whether all other workers can be reached."""
    try:
        with closing(met(place, rank, address, _MEET)) as group:
            group.barrier()
    except PeerLostError as problem:
        return str(problem)
    return ""
