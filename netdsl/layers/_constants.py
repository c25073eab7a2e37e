"""Numbers that a layer knows beforehand, brought to where its bottoms are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def constants(values: Sequence[Any], like: Tensor) -> Tensor:
    """Numbers as a tensor of another one's type, on its device; `new_tensor` would wait until a GPU is done."""
    return torch.tensor(values, dtype=like.dtype).to(like.device, non_blocking=True)
