"""MATLAB's files, compared with scipy's own writer and reader."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest

from netdsl.data.sources.matlab import matlab_array, matlab_cells
from netdsl.data.writing.pixel_sets import matlab_bytes
from netdsl.errors import DataError

scipy_io = pytest.importorskip("scipy.io")

LABELS = np.arange(35, dtype=np.uint16).reshape(5, 7) * 9


def saved(*, compressed: bool = False, **values: Any) -> bytes:
    file = io.BytesIO()
    scipy_io.savemat(file, values, do_compression=compressed)
    return file.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float64, np.float32])
def test_a_matrix_is_found_by_its_name(kind: type, compressed: bool) -> None:
    labels = (LABELS % 200).astype(kind)
    data = saved(compressed=compressed, x=3, names=np.array(["a", "bb"], object), LabelMap=labels)
    found = matlab_array(data, ("LabelMap",), "one.mat")
    assert found.dtype == kind and (found == labels).all()


def test_a_field_of_a_struct_is_found_among_cells() -> None:
    cells = np.array([np.zeros((2, 3)), np.ones(4)], object)
    data = saved(compressed=True, GTcls={"Boundaries": cells, "Segmentation": LABELS, "Present": np.array([1, 2])})
    assert (matlab_array(data, ("GTcls", "Segmentation"), "one.mat") == LABELS).all()


@pytest.mark.parametrize("place", [("S",), ("GTcls", "Segmentation")])
def test_scipy_reads_written_files(place: tuple[str, ...]) -> None:
    data, labels = matlab_bytes(LABELS % 256, place), LABELS % 256
    found = scipy_io.loadmat(io.BytesIO(data))[place[0]]
    assert ((found if len(place) == 1 else found[0][place[1]][0]) == labels).all()
    assert (matlab_array(data, place, "one.mat") == labels).all()


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"no", ("S",), "not a MATLAB file"),
        (
            matlab_bytes(LABELS, ("S",)).replace(b"\x00\x01IM", b"\x00\x02IM"),
            ("S",),
            "the format of MATLAB 7.3; save it in MATLAB with save",
        ),
        (matlab_bytes(LABELS, ("S",)), ("T",), "has no 'T'"),
        (matlab_bytes(LABELS, ("S",)), ("S", "field"), "has no 'S.field'"),
        (matlab_bytes(LABELS, ("S", "field")), ("S", "other"), "has no 'S.other'"),
        (matlab_bytes(LABELS, ("S", "field")), ("S",), "'S' isn't an array of real numbers"),
        (saved(S=np.array([1 + 2j])), ("S",), "'S' isn't an array of real numbers"),
        (matlab_bytes(LABELS, ("S",))[:-20], ("S",), "ends within an element"),
        (saved(S=LABELS, compressed=True)[:-9], ("S",), "ends within an element"),
    ],
)
def test_problems_are_reported(data: bytes, place: tuple[str, ...], words: str) -> None:
    with pytest.raises(DataError, match=words) as problem:
        matlab_array(data, place, "one.mat")
    assert str(problem.value).startswith("one.mat: ")


def test_a_false_shape_allocates_no_memory() -> None:
    data = matlab_bytes(LABELS, ("S",))
    lie = data.replace(struct.pack("<2i", 5, 7), struct.pack("<2i", 1 << 30, 1 << 30))
    with pytest.raises(DataError, match="a matrix of shape"):
        matlab_array(lie, ("S",), "one.mat")


def test_an_element_that_unpacks_to_a_huge_size_is_refused() -> None:
    header, bomb = saved(S=1)[:128], zlib.compress(bytes((1 << 28) + 1), 1)
    with pytest.raises(DataError, match="has more than"):
        matlab_array(header + struct.pack("<II", 15, len(bomb)) + bomb, ("S",), "one.mat")


@pytest.mark.parametrize("compressed", [False, True])
def test_the_arrays_in_cells_are_found_by_their_name(compressed: bool) -> None:
    cells = np.empty((2, 1), object)
    cells[0, 0], cells[1, 0] = LABELS, np.zeros((0, 4))
    data = saved(compressed=compressed, LabelMap=LABELS, boxes=cells)
    found = matlab_cells(data, "boxes", "one.mat")
    assert [array.tolist() for array in found] == [LABELS.tolist(), []]
    with pytest.raises(DataError, match=r"one\.mat: 'LabelMap' isn't a cell array"):
        matlab_cells(data, "LabelMap", "one.mat")
    with pytest.raises(DataError, match=r"one\.mat: the file has no 'others'"):
        matlab_cells(data, "others", "one.mat")
    texts = saved(boxes=np.array(["a", "bb"], object))
    with pytest.raises(DataError, match=r"one\.mat: cell 1 of 'boxes' isn't an array of real numbers"):
        matlab_cells(texts, "boxes", "one.mat")
