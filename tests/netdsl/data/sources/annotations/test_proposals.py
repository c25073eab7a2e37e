"""Files of proposed regions: netdsl's own and those of selective search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.annotations.proposals import read_proposals, write_proposals
from netdsl.errors import DataError

NAMES = ["one", "two", "three"]
BOXES = [np.array(rows, np.float32).reshape(-1, 4) for rows in ([(1, 2, 30, 40)], [], [(0, 0, 9, 9), (5, 5, 5, 6)])]


def test_written_proposals_are_read(tmp_path: Path) -> None:
    write_proposals(tmp_path / "x.npz", NAMES, BOXES)
    found = read_proposals(tmp_path / "x.npz", NAMES)
    assert all(np.array_equal(*pair) for pair in zip(found, BOXES, strict=True))


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["one", "two"], "regions of 3 images, but the data set has 2"),
        (["one", "three", "two"], "regions of image two, but the data set has three"),
    ],
)
def test_regions_of_another_set_are_refused(tmp_path: Path, names: list[str], problem: str) -> None:
    write_proposals(tmp_path / "x.npz", NAMES, BOXES)
    with pytest.raises(DataError, match=problem):
        read_proposals(tmp_path / "x.npz", names)


@pytest.mark.parametrize(
    "arrays",
    [
        {"boxes": np.zeros((3, 4), np.float32), "counts": np.array([1, 1, 2])},
        {"boxes": np.zeros((3, 4)), "counts": np.array([1, 1, 1])},
        {"boxes": np.zeros((1, 4), np.float32), "counts": np.array([-1, 1, 1])},
        {"boxes": np.zeros((3, 5), np.float32), "counts": np.array([1, 1, 1])},
        {"boxes": np.array([[4, 0, 2, 0]] * 3, np.float32), "counts": np.array([1, 1, 1])},
        {"boxes": np.full((3, 4), np.nan, np.float32), "counts": np.array([1, 1, 1])},
        {"boxes": np.array([object()]), "counts": np.array([1])},
        {"counts": np.array([1])},
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    np.savez(tmp_path / "x.npz", names=np.array(NAMES), **arrays)
    with pytest.raises(DataError, match=r"x\.npz: "):
        read_proposals(tmp_path / "x.npz", NAMES)


def test_compressed_files_and_others_are_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", boxes=BOXES[0])
    with pytest.raises(DataError, match="is compressed"):
        read_proposals(tmp_path / "x.npz", NAMES)
    (tmp_path / "y.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"y\.npz: can't be read"):
        read_proposals(tmp_path / "y.npz", NAMES)


def test_a_selective_search_counts_rows_first_and_from_one(tmp_path: Path) -> None:
    library = pytest.importorskip("scipy.io")
    cells = np.empty((2, 1), object)
    cells[0, 0] = np.array([(11, 21, 31, 51), (1, 1, 20, 20), (11, 21, 31, 51), (5, 5, 30, 6)], float)
    cells[1, 0] = np.array([(2, 3, 40, 50)], float)
    library.savemat(tmp_path / "x.mat", {"boxes": cells})
    found = read_proposals(tmp_path / "x.mat", NAMES[:2])
    # duplicates are removed, and so are regions one pixel wide
    assert [boxes.tolist() for boxes in found] == [[[20, 10, 50, 30], [0, 0, 19, 19]], [[2, 1, 49, 39]]]
    (tmp_path / "x.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    with pytest.raises(DataError, match=r"x\.mat: not a MATLAB file"):
        read_proposals(tmp_path / "x.mat", NAMES)
