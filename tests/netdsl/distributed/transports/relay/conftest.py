"""Workers around a relay."""

from __future__ import annotations

import pytest

from tests.netdsl.distributed.workers import Together, around_a_relay


@pytest.fixture
def all_workers() -> Together:
    """Run a task as every worker, and return the results."""
    return around_a_relay
