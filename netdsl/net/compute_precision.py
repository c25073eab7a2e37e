"""The precision of products. Weights, gradients and a solver's history are always float32."""

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
    """The numbers that a net computes with."""

    EXACT = "exact"  # float32 everywhere, as in Caffe
    TF32 = "tf32"  # TF32 products on GPUs that support it: factors have 10 fraction bits, sums are float32
    BF16 = "bf16"  # bfloat16 where torch's autocast finds it sufficient
    FP16 = "fp16"  # float16 there: finer, but its range is so small that a solver scales the loss

    @property
    def half(self) -> torch.dtype | None:
        """The two-byte type of the precision, or `None`."""
        return {ComputePrecision.BF16: torch.bfloat16, ComputePrecision.FP16: torch.float16}.get(self)


@contextmanager
def products_of(precision: ComputePrecision) -> Iterator[None]:
    """Round float32 products to TF32 in the block only if the precision is TF32.

    torch lets a GPU's convolutions use TF32 by default. Its flags apply to the whole process, so they are restored
    afterwards.
    """
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    wanted = (precision is ComputePrecision.TF32,) * 2
    if before == wanted:  # nested in another block of the same precision
        yield
        return
    try:
        _allow_tf32(*wanted)
        yield
    finally:
        _allow_tf32(*before)


def halves_of(precision: ComputePrecision, device: torch.device) -> AbstractContextManager[Any]:
    """Compute in a precision's two-byte type in the block. If it doesn't have one, autocast is switched off."""
    half = precision.half
    if half is None and not torch.is_autocast_enabled(device.type):
        return nullcontext()
    return torch.autocast(device.type, half or torch.bfloat16, enabled=half is not None)


@contextmanager
def repeatable(device: torch.device, precision: ComputePrecision) -> Iterator[None]:
    """Compute exact results on a GPU with the same bits every time in the block, as a CPU does.

    If torch doesn't have such a way to compute something, it warns and names it. cuBLAS reads its setting when a
    process first multiplies matrices on a GPU. Coarser precisions are meant for speed, and may add up in any order.
    """
    if device.type != "cuda" or precision is not ComputePrecision.EXACT:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    deterministic: Any = torch.utils.deterministic  # type checkers don't see the property of its setting
    filling, cudnn = deterministic.fill_uninitialized_memory, torch.backends.cudnn
    choices, workspace = (cudnn.deterministic, cudnn.benchmark), os.environ.get(_WORKSPACE)
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        deterministic.fill_uninitialized_memory = (
            False  # filling only helps to find programs that read uninitialized memory
        )
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
