"""Workers around a relay."""

from __future__ import annotations

import pytest

from tests.netdsl.distributed.workers import Together, around_a_relay


@pytest.fixture
def everybody() -> Together:
    """Do something as every worker, and return each one's result."""
    return around_a_relay
