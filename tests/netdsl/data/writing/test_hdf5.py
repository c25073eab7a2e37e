"""Writing rows to HDF5 files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.errors import DataError

h5py = pytest.importorskip("h5py")


def test_rows_are_added_to_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.h5"
    path.write_text("something old")
    rows, written = Hdf5Rows(path), np.arange(30, dtype=np.float32).reshape(5, 2, 3)
    for part in (written[:3], written[3:]):
        rows.add({"data": part, "label": part[:, 0, 0]})
    with h5py.File(path) as file:
        assert sorted(file) == ["data", "label"]
        assert file["data"].dtype == np.float32
        assert np.array_equal(file["data"], written)
        assert np.array_equal(file["label"], written[:, 0, 0])


def test_values_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing/rows\.h5: can't be written as HDF5"):
        Hdf5Rows(tmp_path / "missing/rows.h5").add({"data": np.zeros(3)})
    rows = Hdf5Rows(tmp_path / "rows.h5")
    rows.add({"data": np.zeros((3, 4))})
    with pytest.raises(DataError, match=r"a row of 'data' has shape \(5,\), but earlier rows have \(4,\)"):
        rows.add({"data": np.zeros((3, 5))})
