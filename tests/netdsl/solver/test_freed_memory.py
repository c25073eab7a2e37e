"""A training keeps the memory that a step frees, so that the next one doesn't ask the system for it again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

STEPS = """
import resource, sys
import torch
from netdsl.solver.freed_memory import keep_freed_memory

def step():
    activations = [torch.ones(2_000_000) for _ in range(16)]

if sys.argv[1] == "keeping":
    keep_freed_memory()
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages(how: str) -> int:
    """How many pages the system had to hand out in ten steps."""
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", STEPS, how]
    return int(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator can be told")
def test_freed_memory_is_used_again_without_asking_the_system() -> None:
    assert pages("keeping") < pages("not keeping") / 10
