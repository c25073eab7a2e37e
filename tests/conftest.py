"""What holds for all tests."""

from __future__ import annotations

import pytest
import torch


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Random weights are the same whenever a test runs, and whatever ran before it."""
    torch.manual_seed(1701)
