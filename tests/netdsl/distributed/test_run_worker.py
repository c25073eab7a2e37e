"""A worker's device, and its messages about nets that carry state from one batch to the next."""

from __future__ import annotations

import socket

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.distributed.machines import Link
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_worker, worker_device
from netdsl.errors import DistributedError
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.world import World
from netdsl.solver.events import Event, Notice
from netdsl.solver.settings import open_settings

NET = """
layer { name: "x" type: "DummyData" top: "x" top: "cont" top: "y"
        dummy_data_param { shape { dim: 4 dim: 2 dim: 3 } shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 dim: 5 } } }
layer { name: "memory" type: "LSTM" bottom: "x" bottom: "cont" top: "h" %s }
layer { name: "loss" type: "EuclideanLoss" bottom: "h" bottom: "y" top: "loss" }
"""


def device(name: str, number: int = 0, *assigned: str) -> str:
    return str(worker_device(torch.device(name), number, assigned))


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that two GPUs exist. Nothing is computed on them."""
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)


@pytest.mark.usefixtures("two_gpus")
def test_a_worker_uses_its_assigned_gpu_or_the_one_with_its_number() -> None:
    assert device("cuda", 0, "1") == "cuda:1"
    assert [device("cuda", number) for number in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert device("cuda:0", 1, "1") == "cuda:0"  # the user's choice comes first
    assert device("cpu", 1, "1") == "cpu"


@pytest.mark.usefixtures("two_gpus")
def test_a_missing_device_is_reported_with_the_workers_machine() -> None:
    with pytest.raises(DistributedError, match=rf"^{socket.gethostname()}: cuda:4 doesn't exist; name one of 0 to 1"):
        device("cuda:4")
    with pytest.raises(DistributedError, match="the assigned GPU is 'GPU-8a', which isn't a number; name a"):
        device("cuda", 0, "GPU-8a")


def test_a_machine_without_gpus_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(DistributedError, match="torch finds no GPU, although 1 was assigned"):
        device("cuda", 0, "1")


@pytest.mark.parametrize(("workers", "told"), [(1, 0), (2, 1)])
def test_splitting_sequences_between_workers_is_reported(workers: int, told: int) -> None:
    param = pb.SolverParameter(base_lr=0.1, lr_policy="fixed", max_iter=1)
    settings = 'recurrent_param { num_output: 5 weight_filler { type: "xavier" } }'
    param.net_param.CopyFrom(from_text(NET % settings, pb.NetParameter))
    communicator = SimulatedCommunicator(Network(World(workers), Link()), 0)
    events: list[Event] = []
    with open_worker(Run(open_settings(param), workers=workers).settled(), communicator, listen=events.append):
        notices = [event.text for event in events if isinstance(event, Notice)]
    assert [text.partition(":")[0] for text in notices] == ["layer 'memory'"] * told
