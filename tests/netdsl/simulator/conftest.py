"""The settings for tests of distributed training."""

from __future__ import annotations

from tests.netdsl.distributed import conftest as distributed

param = distributed.param  # a fixture
