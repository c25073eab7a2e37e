"""Devices by the names and numbers that users enter, on machines with any number of GPUs."""

from __future__ import annotations

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.transports.transport import Transport, choose_transport
from zoo.devices import gpus_of, note_on_devices, training_devices
from zoo.requests.request import RequestError

CPU, GPUS = torch.device("cpu"), [torch.device("cuda", index) for index in range(4)]


def test_gpus_are_named_by_their_numbers_or_all_together() -> None:
    assert gpus_of("0", 4) == GPUS[:1]
    assert gpus_of(" 2, 0", 4) == [GPUS[2], GPUS[0]]
    assert gpus_of("all", 3) == GPUS[:3]


def test_without_a_gpu_every_number_means_the_cpu() -> None:
    assert gpus_of("all", 0) == gpus_of("0", 0) == [CPU]
    assert gpus_of("0,1", 0) == [CPU, CPU]


@pytest.mark.parametrize(
    ("numbers", "count", "message"),
    [
        ("0,4", 4, "there is no GPU 4; choose from 0 to 3"),
        ("1,1", 4, "1,1 names a GPU twice; for workers that share GPUs, give --workers too"),
        ("cuda:0", 4, "'cuda:0' isn't the number of a GPU; write 0, or 0,1, or all"),
        ("-1", 4, "'-1' isn't the number"),
        ("²", 4, "'²' isn't the number"),
        ("", 4, "'' isn't the number"),
    ],
)
def test_missing_gpus_are_an_error(numbers: str, count: int, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        gpus_of(numbers, count)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "workers", "count", "devices"),
    [
        (None, None, 2, ["cuda"]),  # one process uses one GPU unless the user names more
        (None, 2, 2, ["cuda:0", "cuda:1"]),
        (None, 2, 4, ["cuda:0", "cuda:1"]),
        (None, 4, 2, ["cuda:0", "cuda:1"]),
        (None, 2, 0, ["cpu"]),
        (pb.SolverParameter.CPU, 2, 2, ["cpu"]),  # the settings ask for it
    ],
)
def test_several_workers_use_every_gpu_by_default(
    monkeypatch: pytest.MonkeyPatch, mode: int | None, workers: int | None, count: int, devices: list[str]
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: count)
    param = pb.SolverParameter(solver_mode=mode)
    assert training_devices(None, None, param, workers) == list(map(torch.device, devices))


@pytest.mark.parametrize(
    ("name", "gpus", "devices"),
    [
        (None, None, []),  # the workers' machines decide
        ("cuda", None, ["cuda"]),
        ("all", None, ["cuda"]),
        ("cuda:5", None, ["cuda:5"]),
        (None, "0, 7", ["cuda:0", "cuda:7"]),
        (None, "all", ["cuda"]),
    ],
)
def test_devices_of_other_machines_are_checked_there(name: str | None, gpus: str | None, devices: list[str]) -> None:
    param = pb.SolverParameter(solver_mode=pb.SolverParameter.GPU)
    assert training_devices(name, gpus, param, remote=True) == list(map(torch.device, devices))


def test_cuda_workers_use_one_gpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert training_devices("cuda", None, pb.SolverParameter(), 2) == GPUS[:2]


def test_workers_that_share_a_gpu_get_a_note_about_their_transport() -> None:
    assert note_on_devices(GPUS[:1], 2) == "2 workers share cuda:0; they exchange models through main memory"
    assert choose_transport([GPUS[0], GPUS[0]], machines=1) is not Transport.NCCL
    assert note_on_devices(GPUS, 2) == "warning: --workers 2 leaves cuda:2, cuda:3 without a worker"
    assert note_on_devices(GPUS[:2], 2) == note_on_devices([CPU], 3) == ""
