"""With a net on a CPU, a process keeps the memory that a pass frees. The next pass doesn't request it from the system
again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

STEPS = """
import ctypes, resource, sys
from netdsl import InnerProduct, Net, NetParams, RDDLayer

allocator = ctypes.CDLL(None)
allocator.malloc.restype = ctypes.c_void_p
allocator.malloc.argtypes = [ctypes.c_size_t]
allocator.free.argtypes = [ctypes.c_void_p]

def step():
    activations = [allocator.malloc(4_000_000) for _ in range(20)]
    for place in activations:
        ctypes.memset(place, 1, 4_000_000)
    for place in reversed(activations):
        allocator.free(place)

if sys.argv[1] == "with a net":
    Net(NetParams("one", RDDLayer("data", shape=[1, 2]), InnerProduct("score", ["data"], num_output=2)))
for _ in range(4):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(6):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages(process: str, **variables: str) -> int:
    """Return how many pages the system had to provide in six steps, after four earlier ones."""
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), **variables}
    command = [sys.executable, "-c", STEPS, process]
    return int(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator can be told")
def test_freed_memory_is_reused_without_a_system_call() -> None:
    given_back = pages("without")
    assert pages("with a net") < given_back / 10
    assert pages("with a net", MALLOC_TRIM_THRESHOLD_="100000") >= given_back
