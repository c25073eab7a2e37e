"""Parquet files that a real Spark reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (1, 0, 2)])
def test_tensors_are_read_as_nested_arrays(session: Any, tmp_path: Path, order: tuple[int, int, int]) -> None:
    from netdsl.spark.tables import parquet

    kind = pa.fixed_shape_tensor(pa.float32(), (2, 3, 4), permutation=order)
    stored = np.arange(48, dtype=np.float32).reshape(2, 2, 3, 4)
    tensors = pa.ExtensionArray.from_storage(kind, pa.array(stored.reshape(2, 24).tolist(), kind.storage_type))
    pq.write_table(pa.table({"x": tensors, "number": [0, 1]}), tmp_path / "t.parquet")
    rows = parquet.read(session, str(tmp_path / "t.parquet")).sort("number").collect()
    np.testing.assert_array_equal([row.x for row in rows], stored.transpose(0, *(axis + 1 for axis in order)))
