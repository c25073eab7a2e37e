"""Which device pycaffe's nets are made on."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from netdsl.errors import NetError


@dataclass
class _Mode:
    gpu: bool = False
    index: int = 0


_mode = _Mode()


def set_mode_cpu() -> None:
    """Make nets on the CPU."""
    _mode.gpu = False


def set_mode_gpu() -> None:
    """Make nets on the GPU."""
    if not torch.cuda.is_available():
        raise NetError("there is no GPU that torch can use; call set_mode_cpu()")
    _mode.gpu = True


def set_device(index: int) -> None:
    """Which GPU."""
    _mode.index = index


def device() -> torch.device:
    """The device of the next net."""
    return torch.device("cuda", _mode.index) if _mode.gpu else torch.device("cpu")


def set_random_seed(seed: int) -> None:
    """Begin the random numbers anew."""
    torch.manual_seed(seed)
