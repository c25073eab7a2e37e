"""The rendezvous of workers that another program has started: how the others learn where the supervisor is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

import msgspec

from caffe_proto.errors import CaffeError
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.reach import PROBE
from netdsl.distributed.launcher import WorkerSpec
from netdsl.errors import DistributedError

UNREACHABLE = (
    "name an address of that worker's machine that this one reaches with --address, and a port that no firewall closes "
    "with --port"
)


def first_failed(host: str, reason: str) -> DistributedError:
    """Return the error with which the others end when the first worker has failed."""
    return DistributedError(
        f"the first worker, on {host}, failed: {reason}; start all workers again when that is mended"
    )


def unreachable(reason: str) -> DistributedError:
    """Return the error with which a worker ends that can't reach the first one."""
    return DistributedError(f"{reason}; {UNREACHABLE}")


class Rendezvous:
    """The way in which the others learn where the first worker's supervisor is.

    `place` is where that listens, or `None` if all workers are on one machine. Ranks of mpiexec learn it over MPI, so
    nothing of this base class does anything.
    """

    def __init__(self, place: NetworkPlace | None = None) -> None:
        self.place = place

    def leading(self) -> AbstractContextManager[None]:
        """Return a context for the first worker. If it fails, the others get to know the reason."""
        raise NotImplementedError

    def publish(self, spec: WorkerSpec) -> None:
        """Let the others know the spec, whose supervisor listens."""

    def await_spec(self, rank: int) -> WorkerSpec:
        """Return the spec, with the address at which this process reaches the supervisor.

        Raises a `DistributedError` if the first worker has failed or can't be reached.
        """
        raise NotImplementedError

    def problems(self, size: int) -> Mapping[int, str]:
        """Return how workers ended that can't reach the supervisor, by rank."""
        return {}

    def close(self) -> None:
        """End the rendezvous."""


def reached(spec: WorkerSpec) -> WorkerSpec:
    """Return a spec with the one address at which this process reaches the supervisor. Raises an `OSError` if there is
    none."""
    connection = spec.control.place.connect(PROBE)
    try:
        place = spec.control.place.over(connection)
    finally:
        connection.close()
    return msgspec.structs.replace(spec, control=msgspec.structs.replace(spec.control, place=place))


def reason_of(problem: BaseException) -> str:
    """Return the reason of a failure in words that anybody who may read the folder may read."""
    if isinstance(problem, CaffeError):
        return str(problem)
    return f"{type(problem).__name__}; its output contains more"
