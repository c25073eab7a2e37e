from __future__ import annotations

import pytest

from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError


def test_a_count_can_be_a_number_or_a_range() -> None:
    assert WorkerCount.parse("4") == WorkerCount(4)
    assert WorkerCount.parse("2:8") == WorkerCount(most=8, fewest=2)


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "2:", ":8", "0:2", "1:2:3", "2-8"])
def test_other_worker_counts_are_refused(text: str) -> None:
    with pytest.raises(DistributedError, match="give a number such as 4, or a range such as 2:8"):
        WorkerCount.parse(text)
