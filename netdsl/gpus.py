"""The rule for GPUs that Caffe's words name, such as `-gpu 0` or `solver_mode: GPU`: without a GPU, they mean the
CPU."""

from __future__ import annotations

from collections.abc import Callable


def sees_gpu(words: str, warn: Callable[[str], object]) -> bool:
    """Return whether torch sees a GPU. If it doesn't, `warn` gets a sentence that these words now mean the CPU."""
    import torch

    if torch.cuda.device_count():
        return True
    warn(f"torch sees no GPU here, so {words} means the CPU")
    return False
