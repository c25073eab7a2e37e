"""Numbers that a layer knows beforehand, brought to where its bottoms are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

_KEPT = 1024  # tensors: more than a net with fixed shapes asks for


def constants(values: Sequence[Any], like: Tensor) -> Tensor:
    """Numbers as a tensor of another one's type, on its device, which nobody may write to.

    They are sent to a GPU once: a step that it repeats can't send anything. `new_tensor` would wait until it is done.
    """
    if torch.compiler.is_compiling() or not like.is_cuda:
        return torch.tensor(values, dtype=like.dtype).to(like.device)
    return _sent(_as_tuple(values), like.dtype, like.device)


@lru_cache(_KEPT)
def _sent(values: tuple[Any, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # since the next one may ask for gradients
        return torch.tensor(values, dtype=dtype).to(device, non_blocking=True)


def _as_tuple(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_as_tuple(value) if isinstance(value, Sequence) else value for value in values)
