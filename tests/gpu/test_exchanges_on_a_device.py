"""Exchanges between workers on the device in NETDSL_DEVICE, over gloo and over NCCL."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from netdsl.distributed.transports.torch_group import Library, TorchGroup
from tests.gpu.workers import LIBRARIES, as_workers, devices_of
from tests.netdsl.distributed.workers import own

LENGTH = 1_000_003  # several megabytes


@pytest.mark.parametrize("library", LIBRARIES)
def test_means_are_accurate_and_the_same_for_all_workers(library: Library) -> None:
    def task(group: TorchGroup, device: torch.device) -> Tensor:
        buffer = own(group.rank, LENGTH).to(device)
        group.mean(buffer, group.rank + 1.0).wait()
        assert buffer.device == device
        return buffer.cpu()

    devices = devices_of(library)
    found = as_workers(library, devices, task)
    total = sum(range(len(devices) + 1))
    wanted = sum(own(rank, LENGTH).double() * (rank + 1) / total for rank in range(len(devices)))
    torch.testing.assert_close(found[0].double(), wanted, rtol=1e-6, atol=1e-3)  # the values are around 1000
    assert all(torch.equal(buffer, found[0]) for buffer in found)


@pytest.mark.parametrize("library", LIBRARIES)
def test_broadcasts_and_reductions_work_in_separate_lanes(library: Library) -> None:
    def task(group: TorchGroup, device: torch.device) -> tuple[Tensor, Tensor]:
        copy, reduced = own(group.rank, LENGTH).to(device), torch.ones(LENGTH, device=device) * (group.rank + 1)
        handles = group.broadcast(copy, lane=0), group.reduce(reduced, lane=1)
        for handle in handles:
            handle.wait()
        return copy.cpu(), reduced.cpu()

    devices = devices_of(library)
    found = as_workers(library, devices, task)
    assert all(torch.equal(copy, own(0, LENGTH)) for copy, _ in found)
    assert torch.equal(found[0][1], torch.full([LENGTH], (len(devices) + 1) / 2))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_shared_variable_moves_by_each_workers_difference(library: Library) -> None:
    def task(group: TorchGroup, device: torch.device) -> Tensor:
        variable = group.shared_variable(torch.zeros(LENGTH, device=device))
        if group.rank == 0:
            variable.exchange(torch.ones(LENGTH, device=device), 0.5).wait()
        group.barrier()
        found = torch.empty(LENGTH, device=device)
        variable.read(found)
        group.barrier()
        return found.cpu()

    for found in as_workers(library, devices_of(library), task):
        assert torch.equal(found, torch.full([LENGTH], 0.5))
