"""What holds for all tests."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: tests and what they start run side by side

import pytest
import torch


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Random weights are the same whenever a test runs, and whatever ran before it."""
    torch.manual_seed(1701)
