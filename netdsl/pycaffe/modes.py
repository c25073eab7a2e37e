"""pycaffe's global state: the device, the dialect of nets, and the rank of a solver among several."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from caffe_proto.dialects import dialect_named
from netdsl.errors import NetError


@dataclass
class _Mode:
    gpu: bool = False
    index: int = 0
    dialect: str | None = None
    solver_count: int = 1
    solver_rank: int = 0
    multiprocess: bool = False
    divide: Callable[[Sequence[Tensor]], Sequence[Tensor]] = tuple
    join: Callable[[Tensor], Tensor] = torch.Tensor.detach


_mode = _Mode()


def set_mode_cpu() -> None:
    """Create nets on the CPU."""
    _mode.gpu = False


def set_mode_gpu() -> None:
    """Create nets on the GPU; on the CPU, with a warning, where torch sees none."""
    _mode.gpu = torch.cuda.device_count() > 0
    if not _mode.gpu:
        warnings.warn("torch sees no GPU here; nets are created on the CPU", stacklevel=2)


def set_device(index: int) -> None:
    """Select the GPU."""
    check_gpu(index, torch.cuda.device_count())
    _mode.index = index


def check_gpu(index: int, count: int) -> None:
    """Raise a NetError if there are so many GPUs, and none has this number; where there are none, nets have the CPU."""
    if count and index not in range(count):
        raise NetError(f"there is no GPU {index}; the GPUs here are 0 to {count - 1}")


def device() -> torch.device:
    """The device for new nets."""
    return torch.device("cuda", _mode.index) if _mode.gpu else torch.device("cpu")


def set_dialect(name: str | None) -> None:
    """Name the fork of Caffe that all nets are for which are opened from now on; None is for none."""
    _mode.dialect = None if name is None else dialect_named(name).name


def dialect() -> str | None:
    """The dialect of new nets."""
    return _mode.dialect


def set_random_seed(seed: int) -> None:
    """Seed the random numbers."""
    torch.manual_seed(seed)


def solver_count() -> int:
    """The number of solvers that train together."""
    return _mode.solver_count


def set_solver_count(count: int) -> None:
    """Set the number of solvers that train together."""
    _mode.solver_count = count


def solver_rank() -> int:
    """The rank of this process's solver."""
    return _mode.solver_rank


def set_solver_rank(rank: int) -> None:
    """Set the rank of this process's solver."""
    _mode.solver_rank = rank


def set_multiprocess(multiprocess: bool) -> None:
    """Set whether each solver has its own process."""
    _mode.multiprocess = multiprocess


def has_nccl() -> bool:
    """Whether several solvers can train together."""
    return True


@contextmanager
def divided_batches(
    divide: Callable[[Sequence[Tensor]], Sequence[Tensor]], join: Callable[[Tensor], Tensor]
) -> Iterator[None]:
    """Let `divide` make of every batch what this process computes with, and `join` of values what scripts see."""
    before = _mode.divide, _mode.join
    _mode.divide, _mode.join = divide, join
    try:
        yield
    finally:
        _mode.divide, _mode.join = before


def divide(batch: Sequence[Tensor]) -> Sequence[Tensor]:
    """What this process computes with, of a batch that a net has read."""
    return _mode.divide(batch)


def join(values: Tensor) -> Tensor:
    """What scripts see of values that this process has computed."""
    return _mode.join(values)
