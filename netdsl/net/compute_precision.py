"""What products are computed with. Weights, gradients and a solver's history are float32 always."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

import torch


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
    wanted = precision is ComputePrecision.TF32
    try:
        _allow_tf32(wanted, wanted)
        yield
    finally:
        _allow_tf32(*before)


def _allow_tf32(convolutions: bool, matrices: bool) -> None:
    torch.backends.cudnn.allow_tf32 = convolutions
    torch.backends.cuda.matmul.allow_tf32 = matrices
