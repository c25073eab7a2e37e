"""The device of a worker or a task, found on the machine that it runs on."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import torch

from netdsl.errors import DistributedError


def worker_device(requested: torch.device, number: int, assigned: Sequence[str] = ()) -> torch.device:
    """The device that was requested for a worker, on its own machine; a DistributedError if it isn't there.

    A GPU without a number is the one that a resource manager assigned to the worker. Where none was assigned, workers
    of a machine take its GPUs in turn, by their numbers there.
    """
    if requested.type != "cuda":
        return requested
    count, index = torch.cuda.device_count(), requested.index
    if not count:
        raise _missing(f"torch sees no GPU{f', though {assigned[0]} was assigned' if assigned else ''}")
    if index is None:
        index = _number_of(assigned[0]) if assigned else number % count
    if index >= count:
        raise _missing(f"there is no cuda:{index}, the GPUs are 0 to {count - 1}")
    return torch.device("cuda", index)


def _number_of(address: str) -> int:
    if not address.isdecimal():
        raise _missing(f"the GPU that was assigned is '{address}', which is no number; name a device, such as cuda:0")
    return int(address)


def _missing(problem: str) -> DistributedError:
    return DistributedError(f"{socket.gethostname()}: {problem}")
