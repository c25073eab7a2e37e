from __future__ import annotations

import pytest

from netdsl.errors import DistributedError
from netdsl.spark.workers.preflight import check


def test_executors_that_come_and_go(tmp_path):
    class Dynamic:
        """A cluster of which only the settings are asked."""

        def setting(self, name, default):
            return {"spark.dynamicAllocation.enabled": "true"}.get(name, default)

    with pytest.raises(DistributedError, match=r"must keep their executors; set spark.dynamicAllocation.enabled=false"):
        check(Dynamic(), tmp_path, 2, None, print)
