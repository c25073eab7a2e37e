"""Experiments that take only a moment."""

from __future__ import annotations

import pytest

from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.digits import DigitsTask
from zoo.simulating.trials import Trial


@pytest.fixture
def trial() -> Trial:
    """Return a trial with two workers and thirty iterations."""
    plan = Run(DigitsTask(batch=6, iterations=30).settings(1, 10), ModelAveraging(5), 2)
    return Trial(plan, Link(1e6), Machines(0.5, 2))
