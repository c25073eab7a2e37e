"""Devices by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from caffe_proto import caffe_pb2 as pb

if TYPE_CHECKING:
    import torch


def devices_of(name: str | None, mode: pb.SolverParameter.SolverMode = pb.SolverParameter.GPU) -> list[torch.device]:
    """The devices of a name: cpu, cuda, cuda:1, several with commas, or `all` GPUs; without one, the solver's mode."""
    import torch

    count = torch.cuda.device_count()
    if name is None:
        return [torch.device("cuda" if count and mode == pb.SolverParameter.GPU else "cpu")]
    if name == "all":
        return [torch.device("cuda", index) for index in range(count)] or [torch.device("cpu")]
    return [_device(part.strip(), count) for part in name.split(",")]


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
