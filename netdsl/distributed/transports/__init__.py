"""How buffers move between workers: shared memory, gloo, NCCL, a relay at the driver, and what plug-ins bring."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netdsl.registry import Registry

if TYPE_CHECKING:
    import torch

    from netdsl.distributed.communicator import Communicator
    from netdsl.distributed.control.client import ControlClient

_OWN = {
    **dict.fromkeys(("shared-memory", "gloo", "nccl", "relay"), "netdsl.distributed.transports"),
    **dict.fromkeys(("mpi", "mpi-by-node"), "netdsl.mpi"),
}
# Functions of a control client, a rank, the number of workers and a device, by the names of plug-ins' transports.
CONNECTIONS: Registry[Callable[[ControlClient, int, int, torch.device], Communicator]] = Registry("transport", _OWN)
