"""The settings that distributed training is tested with."""

from __future__ import annotations

from tests.netdsl.distributed import conftest as distributed

param = distributed.param  # a fixture
