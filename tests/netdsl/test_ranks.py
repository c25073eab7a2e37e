"""Which of several processes this one is."""

from __future__ import annotations

import pytest

from netdsl.errors import DistributedError
from netdsl.ranks import check_alone, working_together

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2"}


def test_one_of_several_ranks_is_told_unless_they_work_together() -> None:
    with pytest.raises(DistributedError, match="rank 1 of 2, and each of them would train a net of its own"):
        check_alone(TORCHRUN, "train a net")
    with working_together():
        check_alone(TORCHRUN, "train a net")
    with pytest.raises(DistributedError):
        check_alone(TORCHRUN, "train a net")
    for environment in ({}, {"RANK": "0", "WORLD_SIZE": "1"}):
        check_alone(environment, "train a net")
