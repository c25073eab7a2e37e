"""Workers around a star."""

from __future__ import annotations

import pytest

from tests.netdsl.distributed.workers import Together, around_a_star


@pytest.fixture
def everybody() -> Together:
    """Do something as every worker, and give what each returns."""
    return around_a_star
