"""The transports that move buffers between workers: shared memory, gloo, NCCL, a relay at the driver, and plug-ins."""

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
# Functions that accept a control client, a rank, the number of workers and a device, by the name of a plug-in's
# transport.
CONNECTIONS: Registry[Callable[[ControlClient, int, int, torch.device], Communicator]] = Registry("transport", _OWN)
