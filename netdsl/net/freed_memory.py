"""What becomes of memory that a pass through a net frees: on a CPU it is kept for the next one."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers of its settings
_NEVER, _NONE = -1, 0
_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")  # glibc's own variables


@cache
def keep_freed_memory() -> None:
    """Let this process keep what it frees, as a GPU's memory is kept, until it ends; only glibc can be told so.

    By itself it gives large blocks back to the system, which hands them out again page by page and clears each one.
    Activations are such blocks, so ResNet-50 and MobileNet took an eighth longer for a forward pass or a step. The most
    that a training takes grows by a tenth to a half, since what is freed lies in pieces. Who sets glibc's variables for
    that has what they say.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in _OF_THE_USER):
        return
    allocator = ctypes.CDLL(None)
    allocator.mallopt(_TRIM_THRESHOLD, _NEVER)
    allocator.mallopt(_MMAP_MAX, _NONE)  # such blocks would be given back one by one
