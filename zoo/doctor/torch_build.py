"""What torch is built for, and the devices that it computes on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Gpu:
    """A GPU: its memory in bytes, and why it doesn't compute, if it doesn't."""

    name: str
    memory: int = 0
    free: int = 0
    problem: str = ""


@dataclass(frozen=True)
class TorchBuild:
    """A torch: its version, the CUDA or ROCm that it is built for, its threads, its GPUs, and why there are none."""

    version: str
    built_for: str  # empty: for processors only
    threads: int
    gpus: tuple[Gpu, ...]
    no_gpu: str = ""


def torch_build() -> TorchBuild:
    """What torch is built for. Each GPU computes something small, since one that is seen may still be of no use."""
    hip = getattr(torch.version, "hip", None)
    built_for = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {hip}" if hip else ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    reasons = [str(warning.message).splitlines()[0] for warning in caught]
    gpus = tuple(map(_gpu, range(count)))
    return TorchBuild(torch.__version__, built_for, torch.get_num_threads(), gpus, next(iter(reasons), ""))


def _gpu(index: int) -> Gpu:
    name = torch.cuda.get_device_name(index)
    try:
        ones = torch.ones(64, 64, device=f"cuda:{index}")
        if float((ones @ ones).sum()) != 64**3:
            return Gpu(name, problem="it computes something wrong")
        free, memory = torch.cuda.mem_get_info(index)
    except RuntimeError as problem:
        return Gpu(name, problem=str(problem).splitlines()[0])
    return Gpu(name, memory, free)
