"""The transports: which way buffers move between workers, and which one suits their devices and machines."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.distributed.transports import CONNECTIONS

if TYPE_CHECKING:
    import torch


class Transport(Enum):
    """A way that buffers move."""

    SHARED_MEMORY = "shared-memory"  # between processes of one machine
    GLOO = "gloo"  # over the network, from worker to worker
    NCCL = "nccl"  # between GPUs, of which each worker has one
    RELAY = "relay"  # over the network by way of the driver, which adds them up
    MPI = "mpi"  # between ranks of mpiexec
    MPI_BY_NODE = "mpi-by-node"  # likewise, and the ranks of each machine average before machines do

    @classmethod
    def _missing_(cls, value: object) -> Transport | None:
        """Return the transport of a plug-in, which is a member like the others, but for that it isn't listed."""
        if not isinstance(value, str) or value not in CONNECTIONS:
            return None
        known = cls._value2member_map_.get(value)  # msgspec asks again for what it doesn't know itself
        if isinstance(known, cls):
            return known
        member = object.__new__(cls)
        member._name_ = member._value_ = value
        cls._value2member_map_[value] = member
        return member


OF_MPI = (Transport.MPI, Transport.MPI_BY_NODE)


def choose_transport(devices: Sequence[torch.device], machines: int, *, mpi: bool = False) -> Transport:
    """Return the best transport for workers on these devices: of one machine all, of several those of each machine.

    `mpi` is whether the workers are ranks of mpiexec.
    """
    if all(device.type == "cuda" for device in devices) and len(set(devices)) == len(devices):
        return Transport.NCCL
    if mpi:
        return Transport.MPI
    return Transport.SHARED_MEMORY if machines == 1 and is_memory_shareable() else Transport.GLOO


def is_memory_shareable() -> bool:
    """Return whether processes can open memory that has no name, by way of the process that made it."""
    return Path("/proc/self/fd").is_dir()
