"""Arrays in numpy's format: those that numpy writes, and bytes that aren't an array of numbers."""

from __future__ import annotations

import io

import numpy as np
import pytest

from netdsl.data.sources.npy import NPY_START, array_in


def npy(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("kind", ["u1", "<i8", ">f4", "<f2", "?"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3, 4)])
def test_numbers_of_every_kind_are_read(kind: str, shape: tuple[int, ...], version: tuple[int, int]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    found = array_in(npy(array, version))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_columns_that_are_stored_first_are_read() -> None:
    array = np.asfortranarray(np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(array_in(npy(array)), array)


@pytest.mark.parametrize(
    "header",
    [
        b"{'shape': (2, 3), 'fortran_order': False, 'descr': '<i2'}",
        b"{'fortran_order': False,'descr': '<i2','shape':(2,3),}  \n",
        b'{"descr": "<i2", "fortran_order": False, "shape": (2, 3)}',
    ],
)
def test_headers_of_other_programs_are_read(header: bytes) -> None:
    array = np.arange(6, dtype="<i2").reshape(2, 3)
    data = NPY_START + b"\x01\0" + len(header).to_bytes(2, "little") + header + array.tobytes()
    np.testing.assert_array_equal(array_in(data), array)


GOOD = npy(np.arange(6, dtype=np.uint8))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "isn't an .npy file"),
        (GOOD[:6], "isn't an .npy file"),
        (GOOD[:6] + b"\x09" + GOOD[7:], "isn't an .npy file"),
        (GOOD[:20], "doesn't describe an array of numbers"),
        (GOOD[:-1], r"the shape \(6,\), which doesn't fit its values"),
        (GOOD + b"x", "doesn't fit its values"),
        (GOOD.replace(b"(6,)", b"(9999999999999999999,)".ljust(4)), "doesn't describe an array|doesn't fit"),
        (npy(np.array(["a"])), "doesn't describe an array of numbers"),
        (npy(np.zeros(2, [("a", "f4")])), "doesn't describe an array of numbers"),
        (npy(np.zeros(2, complex)), "doesn't describe an array of numbers"),
        (GOOD.replace(b"|u1", b"|u3"), "doesn't describe an array of numbers"),
        (GOOD.replace(b"|u1", b"|f1"), "the unknown type"),
        (GOOD.replace(b"'shape': (6,)", b"'descr': '|u1'"), "doesn't describe an array of numbers"),
        (GOOD.replace(b", }", b", '"), "doesn't describe an array of numbers"),
    ],
)
def test_other_bytes_are_refused(data: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        array_in(data)


def test_objects_are_never_unpickled() -> None:
    file = io.BytesIO()
    np.save(file, np.array([print], object), allow_pickle=True)
    with pytest.raises(ValueError, match="doesn't describe an array of numbers"):
        array_in(file.getvalue())
