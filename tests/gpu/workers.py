"""Workers as threads of one process, on the device in NETDSL_DEVICE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
import torch
from torch import distributed as dist

from netdsl.distributed.transports.torch_group import Library, TorchGroup
from tests.device import DEVICE
from tests.netdsl.distributed.workers import TIMEOUT

Task = Callable[[TorchGroup, torch.device], Any]

LIBRARIES = [
    Library.GLOO,
    pytest.param(Library.NCCL, marks=pytest.mark.skipif(DEVICE.type != "cuda", reason="NCCL is between GPUs")),
]


def devices_of(library: Library) -> list[torch.device]:
    """Return the devices of two workers that share one, or of one worker per GPU, which NCCL requires."""
    if library is Library.GLOO:
        return [torch.device("cuda", 0) if DEVICE.type == "cuda" else DEVICE] * 2
    return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]


def as_workers(library: Library, devices: Sequence[torch.device], task: Task) -> list[Any]:
    """Run a task as every worker, and return the results."""
    store, size = dist.HashStore(), len(devices)

    def one(rank: int) -> Any:
        group = TorchGroup(store, rank, size, library=library, device=devices[rank], timeout=TIMEOUT)
        with closing(group):
            return task(group, devices[rank])

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))
