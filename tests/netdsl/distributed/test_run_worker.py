"""Which of a machine's GPUs a worker takes."""

from __future__ import annotations

import socket

import pytest
import torch

from netdsl.distributed.run_worker import worker_device
from netdsl.errors import DistributedError


def device(name: str, number: int = 0, *assigned: str) -> str:
    return str(worker_device(torch.device(name), number, assigned))


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the count of GPUs is made up; nothing is computed."""
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
def test_a_worker_takes_the_gpu_that_was_assigned_to_it_or_the_one_of_its_number() -> None:
    assert device("cuda", 0, "1") == "cuda:1"
    assert [device("cuda", number) for number in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert device("cuda:0", 1, "1") == "cuda:0"  # what a user names comes first
    assert device("cpu", 1, "1") == "cpu"


@pytest.mark.usefixtures("two_gpus")
def test_a_device_that_is_not_on_the_workers_machine_is_told_with_the_machine() -> None:
    with pytest.raises(DistributedError, match=rf"^{socket.gethostname()}: there is no cuda:4, the GPUs are 0 to 1"):
        device("cuda:4")
    with pytest.raises(DistributedError, match="the GPU that was assigned is 'GPU-8a', which is no number; name a"):
        device("cuda", 0, "GPU-8a")


def test_a_machine_without_gpus_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(DistributedError, match="torch sees no GPU, though 1 was assigned"):
        device("cuda", 0, "1")
