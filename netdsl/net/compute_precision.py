"""What products are computed with. Weights, gradients and a solver's history are float32 always."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from typing import Any

import torch
import torch.utils.deterministic

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


class ComputePrecision(Enum):
    """The numbers that a net is run with."""

    EXACT = "exact"  # float32 everywhere, as Caffe
    TF32 = "tf32"  # products on a GPU that can: factors have 10 bits after the point, sums are float32
    BF16 = "bf16"  # bfloat16, where torch's autocast finds that enough
    FP16 = "fp16"  # float16 there: finer, but with so small a range that a solver scales the loss

    @property
    def half(self) -> torch.dtype | None:
        """The type of the numbers of two bytes that it has, if any."""
        return {ComputePrecision.BF16: torch.bfloat16, ComputePrecision.FP16: torch.float16}.get(self)


@contextmanager
def products_of(precision: ComputePrecision) -> Iterator[None]:
    """Inside, products of float32 are rounded to TF32 only if that is wanted.

    torch lets a GPU's convolutions do so by default, and its flags are for the whole process; so they are put back.
    """
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    wanted = (precision is ComputePrecision.TF32,) * 2
    if before == wanted:  # as it is inside another
        yield
        return
    try:
        _allow_tf32(*wanted)
        yield
    finally:
        _allow_tf32(*before)


def halves_of(precision: ComputePrecision, device: torch.device) -> AbstractContextManager[Any]:
    """Inside, torch computes in the numbers of two bytes that a precision has, and in none if it has none."""
    half = precision.half
    if half is None and not torch.is_autocast_enabled(device.type):
        return nullcontext()
    return torch.autocast(device.type, half or torch.bfloat16, enabled=half is not None)


@contextmanager
def repeatable(device: torch.device, precision: ComputePrecision) -> Iterator[None]:
    """Inside, what is computed exactly on a GPU has the same bits again, as it has on a CPU.

    Where torch has no such way to compute something, it warns and names it. cuBLAS reads its setting when a process
    first multiplies matrices on a GPU. Coarser precisions are there for speed, and may add up in any order.
    """
    if device.type != "cuda" or precision is not ComputePrecision.EXACT:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    deterministic: Any = torch.utils.deterministic  # whose setting is a property that type checkers don't see
    filling, cudnn = deterministic.fill_uninitialized_memory, torch.backends.cudnn
    choices, workspace = (cudnn.deterministic, cudnn.benchmark), os.environ.get(_WORKSPACE)
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        deterministic.fill_uninitialized_memory = False  # which would only find programs that read it
        cudnn.deterministic, cudnn.benchmark = True, False
        os.environ.setdefault(_WORKSPACE, ":4096:8")
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        deterministic.fill_uninitialized_memory = filling
        cudnn.deterministic, cudnn.benchmark = choices
        if workspace is None:
            os.environ.pop(_WORKSPACE, None)


def _allow_tf32(convolutions: bool, matrices: bool) -> None:
    torch.backends.cudnn.allow_tf32 = convolutions
    torch.backends.cuda.matmul.allow_tf32 = matrices
