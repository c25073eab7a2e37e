"""Constant numbers that a layer needs as tensors on the device of its bottoms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

_KEPT = 1024  # a net with fixed shapes uses fewer tensors


def constants(values: Sequence[Any], like: Tensor) -> Tensor:
    """Return numbers as a tensor with the type and the device of `like`. The tensor must not be modified.

    The numbers are copied to a GPU only once, because a recorded step can't copy anything to it. `new_tensor` would
    wait for the copy.
    """
    if torch.compiler.is_compiling() or not like.is_cuda:
        return torch.tensor(values, dtype=like.dtype).to(like.device)
    return _sent(_as_tuple(values), like.dtype, like.device)


@lru_cache(_KEPT)
def _sent(values: tuple[Any, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # a later caller may need gradients
        return torch.tensor(values, dtype=dtype).to(device, non_blocking=True)


def _as_tuple(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_as_tuple(value) if isinstance(value, Sequence) else value for value in values)
