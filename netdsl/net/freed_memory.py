"""Keeps the memory that a pass through a net frees on a CPU for the next pass."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for its settings
_NEVER, _NONE = -1, 0
_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")  # glibc's own variables


@cache
def keep_freed_memory() -> None:
    """Keep the memory that this process frees until it ends, as torch does on a GPU. Only glibc supports this.

    By default, glibc returns large blocks to the system. The system hands them out again page by page and clears each
    page. Activations are such blocks, and this slowed ResNet-50 and MobileNet down by an eighth. The peak memory of
    training grows by a tenth to a half, because freed memory is fragmented. glibc's variables for this take precedence
    if the user sets them.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in _OF_THE_USER):
        return
    allocator = ctypes.CDLL(None)
    allocator.mallopt(_TRIM_THRESHOLD, _NEVER)
    allocator.mallopt(_MMAP_MAX, _NONE)  # glibc would return such blocks one by one
