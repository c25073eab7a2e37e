"""The connections of workers on several machines, by the transport over which they exchange. Doesn't need torch."""

from __future__ import annotations

from netdsl.distributed.machines import Link, RelayLink, SharedLink, TwoLevelLink
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError


def link_over(
    transport: Transport, bandwidth: float, latency: float, *, inside: Link | None = None, per_machine: int = 1
) -> Link:
    """Return the connections of workers on several machines that exchange over a transport.

    `bandwidth` and `latency` are those of a machine's connection to the network, and `inside` is the link between the
    `per_machine` workers of one machine.
    """
    match transport:
        case Transport.SHARED_MEMORY:
            raise DistributedError("machines don't share memory; use --transport gloo, nccl, mpi or relay")
        case Transport.RELAY:
            return RelayLink(bandwidth, latency)
        case Transport.NCCL | Transport.MPI_BY_NODE:
            return TwoLevelLink(bandwidth, latency, inside=inside or Link(), per_machine=per_machine)
        case _:
            return SharedLink(bandwidth, latency, per_machine=per_machine)
