"""Skips what needs several hosts where they can't be made."""

from __future__ import annotations

import pytest

from tests.hosts.laboratory import why_impossible


@pytest.fixture(scope="session")
def possible() -> None:
    """Skip the test if this machine can't have a laboratory."""
    if reason := why_impossible():
        pytest.skip(reason)
