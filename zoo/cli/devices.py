"""Devices by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from caffe_proto import caffe_pb2 as pb
from zoo.cli.output import complain

if TYPE_CHECKING:
    import torch


def devices_of(name: str | None, mode: pb.SolverParameter.SolverMode = pb.SolverParameter.GPU) -> list[torch.device]:
    """The devices of a name: cpu, cuda, cuda:1, several with commas, or `all` GPUs; without one, the solver's mode."""
    import torch

    count = torch.cuda.device_count()
    if name is None:
        return [torch.device("cuda" if count and mode == pb.SolverParameter.GPU else "cpu")]
    if name == "all":
        if not count:
            complain("warning: torch sees no GPU here, so 'all' is the CPU")
        return [torch.device("cuda", index) for index in range(count)] or [torch.device("cpu")]
    return [_device(part.strip(), count) for part in name.split(",")]


def training_devices(name: str | None, param: pb.SolverParameter) -> list[torch.device]:
    """The devices to train on, by name or as the settings ask; a warning where they ask for a GPU and there is none."""
    devices = devices_of(name, param.solver_mode)
    wants_gpu = param.HasField("solver_mode") and param.solver_mode == pb.SolverParameter.GPU
    if name is None and wants_gpu and devices[0].type == "cpu":
        complain("warning: the solver asks for a GPU (solver_mode), and torch sees none here; it trains on the CPU")
    return devices


def _device(name: str, count: int) -> torch.device:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise click.BadParameter(f"'{name}' is no device; try cpu, cuda:0 or all") from None
    if device.type == "cuda" and (device.index or 0) >= count:
        available = f"the GPUs here are cuda:0 to cuda:{count - 1}" if count else "torch sees no GPU here"
        raise click.BadParameter(f"there is no '{name}': {available}")
    return device
