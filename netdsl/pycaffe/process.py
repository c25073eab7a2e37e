"""pycaffe's state of the whole process: version, device, dialect, rank among solvers and log. It also has the timer."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from caffe_proto.dialects import dialect_named
from netdsl.errors import DeviceWarning, NetError
from netdsl.layers import LAYERS
from netdsl.missing_gpu import sees_gpu
from netdsl.solver.caffe_log import glog_line

__version__ = "1.0.0"  # the version of Caffe with this interface


def layer_type_list() -> list[str]:
    """Return the names of all layer types."""
    return sorted(LAYERS)


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
    """Create nets on the GPU, or with a warning on the CPU if torch sees no GPU."""
    _mode.gpu = sees_gpu("set_mode_gpu()", lambda text: warnings.warn(text, DeviceWarning, stacklevel=4))


def set_device(index: int) -> None:
    """Select the GPU for new nets."""
    check_gpu(index, torch.cuda.device_count())
    _mode.index = index


def check_gpu(index: int, count: int) -> None:
    """Raise a `NetError` if there are GPUs but none has this number. Without a GPU, nets use the CPU."""
    if count and index not in range(count):
        raise NetError(f"there is no GPU {index}; use one from 0 to {count - 1}")


def device() -> torch.device:
    """Return the device for new nets."""
    return torch.device("cuda", _mode.index) if _mode.gpu else torch.device("cpu")


def set_dialect(name: str | None) -> None:
    """Set the fork of Caffe for nets that are opened from now on. `None` means no fork in particular."""
    _mode.dialect = None if name is None else dialect_named(name).name


def dialect() -> str | None:
    """Return the dialect for new nets, or `None`."""
    return _mode.dialect


def set_random_seed(seed: int) -> None:
    """Seed torch's random number generators."""
    torch.manual_seed(seed)


def solver_count() -> int:
    """Return the number of solvers that train together."""
    return _mode.solver_count


def set_solver_count(count: int) -> None:
    """Set the number of solvers that train together."""
    _mode.solver_count = count


def solver_rank() -> int:
    """Return the rank of this process's solver."""
    return _mode.solver_rank


def set_solver_rank(rank: int) -> None:
    """Set the rank of this process's solver."""
    _mode.solver_rank = rank


def set_multiprocess(multiprocess: bool) -> None:
    """Set whether each solver has its own process."""
    _mode.multiprocess = multiprocess


def has_nccl() -> bool:
    """Return whether several solvers can train together, which is always true."""
    return True


@contextmanager
def divided_batches(
    divide: Callable[[Sequence[Tensor]], Sequence[Tensor]], join: Callable[[Tensor], Tensor]
) -> Iterator[None]:
    """Set how this process divides each batch that a net reads, and how it joins computed values for scripts."""
    before = _mode.divide, _mode.join
    _mode.divide, _mode.join = divide, join
    try:
        yield
    finally:
        _mode.divide, _mode.join = before


def divide(batch: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return this process's part of a batch that a net has read."""
    return _mode.divide(batch)


def join(values: Tensor) -> Tensor:
    """Return the values that scripts see, given this process's computed values."""
    return _mode.join(values)


_LOGGER = logging.getLogger("netdsl.pycaffe")
_LEVELS = {"I": logging.INFO, "W": logging.WARNING, "E": logging.ERROR}


def init_log(level: int = 0, stderr: bool = False) -> None:
    """Set the lowest level to log: 0 information, 1 warnings, 2 errors, 3 nothing.

    Messages go to the Python logger `netdsl.pycaffe` if the program has handlers for it, and with `stderr` also to
    standard error. Without handlers, they always go to standard error, because there are no log files as in Caffe.
    """
    global _logs_to_stderr_too
    _LOGGER.setLevel((level + 2) * 10)
    _logs_to_stderr_too = stderr


def log(text: str) -> None:
    """Log a line at the information level."""
    write_log_line("I", "_caffe.cpp:84", text)


def write_log_line(severity: str, where: str, text: str) -> None:
    """Log a line that Caffe's source logs at `where`."""
    level, handled = _LEVELS[severity], _LOGGER.hasHandlers()
    if not _LOGGER.isEnabledFor(level):
        return
    if handled:
        _LOGGER.log(level, "%s", text)
    if _logs_to_stderr_too or not handled:
        sys.stderr.write(f"{glog_line(severity, where, text)}\n")


_logs_to_stderr_too = False
init_log()
with suppress(ValueError):
    init_log(int(os.environ.get("GLOG_minloglevel", "")))  # noqa: SIM112 - glog's name, by which scripts silence Caffe


class Timer:
    """Measures the time from `start` to `stop`, including unfinished work of a GPU."""

    def __init__(self) -> None:
        self._began = self._ended = 0.0

    def start(self) -> None:
        """Start the timer."""
        self._began = _seconds()

    def stop(self) -> None:
        """Stop the timer."""
        self._ended = _seconds()

    @property
    def ms(self) -> float:
        """The measured time in milliseconds."""
        return max(0.0, self._ended - self._began) * 1000


def _seconds() -> float:
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
    return perf_counter()
