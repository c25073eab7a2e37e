"""The transports, which move buffers between workers, and the choice of the best one for devices and machines."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.distributed.transports import CONNECTIONS

if TYPE_CHECKING:
    import torch


class Transport(Enum):
    """A way to move buffers between workers."""

    SHARED_MEMORY = "shared-memory"  # between processes of one machine
    GLOO = "gloo"  # over the network, from worker to worker
    NCCL = "nccl"  # between GPUs, one for each worker
    RELAY = "relay"  # over the network through the driver, which adds up the buffers
    MPI = "mpi"  # between ranks of mpiexec
    MPI_BY_NODE = "mpi-by-node"  # like mpi, but the ranks of each machine average first, then the machines

    @classmethod
    def _missing_(cls, value: object) -> Transport | None:
        """Return the transport of a plug-in. It is a member like the others, but iterating over the class doesn't yield
        it."""
        if not isinstance(value, str) or value not in CONNECTIONS:
            return None
        known = cls._value2member_map_.get(value)  # msgspec looks up members that it hasn't seen
        if isinstance(known, cls):
            return known
        member = object.__new__(cls)
        member._name_ = member._value_ = value
        cls._value2member_map_[value] = member
        return member


AMONG_WORKERS = (Transport.GLOO, Transport.NCCL)  # each worker connects to the others by itself
OF_MPI = (Transport.MPI, Transport.MPI_BY_NODE)


def choose_transport(devices: Sequence[torch.device], machines: int, *, mpi: bool = False) -> Transport:
    """Return the best transport for workers on these devices.

    With one machine, `devices` are those of all workers. With several machines, they are those of one machine's
    workers. `mpi` is whether the workers are ranks of mpiexec.
    """
    if all(device.type == "cuda" for device in devices) and len(set(devices)) == len(devices):
        return Transport.NCCL
    if mpi:
        return Transport.MPI
    return Transport.SHARED_MEMORY if machines == 1 and is_memory_shareable() else Transport.GLOO


def is_memory_shareable() -> bool:
    """Return whether a process can open unnamed memory through the process that created it."""
    return Path("/proc/self/fd").is_dir()
