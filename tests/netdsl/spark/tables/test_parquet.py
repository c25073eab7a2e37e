"""Parquet that a real Spark reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 1, 3)])
def test_tensors_are_arrays_in_arrays(session: Any, tmp_path: Path, order: tuple[int, ...]) -> None:
    from netdsl.spark.tables import parquet

    tensors = np.arange(48, dtype=np.float32).reshape(2, 2, 3, 4).transpose(order)
    table = pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(tensors), "number": [0, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    rows = parquet.read(session, str(tmp_path / "t.parquet")).sort("number").collect()
    np.testing.assert_array_equal([row.x for row in rows], tensors)
