"""What pycaffe keeps for the whole process: the device, and a solver's place among several."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from netdsl.errors import NetError


@dataclass
class _Mode:
    gpu: bool = False
    index: int = 0
    solver_count: int = 1
    solver_rank: int = 0
    multiprocess: bool = False


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


def solver_count() -> int:
    """How many solvers train together."""
    return _mode.solver_count


def set_solver_count(count: int) -> None:
    """Say how many solvers train together."""
    _mode.solver_count = count


def solver_rank() -> int:
    """Which of the solvers this process is."""
    return _mode.solver_rank


def set_solver_rank(rank: int) -> None:
    """Say which of the solvers this process is."""
    _mode.solver_rank = rank


def set_multiprocess(multiprocess: bool) -> None:
    """Say whether the solvers are in processes of their own."""
    _mode.multiprocess = multiprocess


def has_nccl() -> bool:
    """Whether Caffe's own way to train on several GPUs is there; here, netdsl.distributed is for that."""
    return False
