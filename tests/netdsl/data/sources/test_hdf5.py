from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
import pytest

from caffe_proto.errors import LimitError
from caffe_proto.limits import VARIABLE
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.errors import DataError


def listed(folder: Path, *files: Mapping[str, object]) -> Path:
    for index, arrays in enumerate(files):
        with h5py.File(folder / f"{index}.h5", "w") as file:
            for name, array in arrays.items():
                file[name] = array
    (folder / "list.txt").write_text("".join(f"{folder}/{index}.h5\n" for index in range(len(files))))
    return folder / "list.txt"


def rows(count: int, start: int) -> dict[str, object]:
    data = np.arange(start, start + count * 6, dtype=np.float64).reshape(count, 2, 3) / 8
    return {"data": data, "label": np.arange(count, dtype=np.int32) + start, "other": np.zeros(9)}


def test_rows_of_all_files_follow_each_other(tmp_path: Path) -> None:
    source = Hdf5Source(listed(tmp_path, rows(3, 0), rows(0, 0), rows(2, 100)), ["label", "data"])
    assert len(source) == 5 and source.rows == (3, 0, 2)
    labels = [0, 1, 2, 100, 101]
    first = [0, 6, 12, 100, 106]
    for index in (0, 1, 2, 3, 4, 2, 4, 0):
        label, data = source.item(source.fetch(index))
        assert label == labels[index]
        assert data.dtype == label.dtype == np.float32
        assert data.tolist() == ((np.arange(6).reshape(2, 3) + first[index]) / 8).tolist()
    source.close()


def test_compressed_files_and_one_file_for_several_names_in_a_line(tmp_path: Path) -> None:
    for name, start in (("a", 1), ("b", 5)):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("x", data=np.arange(start, start + 4, dtype=np.uint8), chunks=(2,), compression="gzip")
    (tmp_path / "list.txt").write_text(f" {tmp_path}/a  {tmp_path}/b ")
    source = Hdf5Source(tmp_path / "list.txt", ["x"])
    assert [float(source.fetch(index)[0]) for index in range(8)] == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([rows(2, 0), {"data": np.zeros((2, 2, 3))}], "1.h5: the file has no data set 'label'; choose from data"),
        ([{"data": np.zeros((2, 3)), "label": np.zeros(3)}], "0.h5: 'label' has 3 rows, but 'data' has 2"),
        (
            [rows(2, 0), {"data": np.zeros((2, 3, 2)), "label": np.zeros(2)}],
            r"1.h5: a row of 'data' is \(3, 2\), but in",
        ),
        ([{"data": np.zeros((2, 3)), "label": np.array([b"a", b"b"])}], "'label' is |S1"),
        ([{"data": 1.0, "label": 2.0}], r"'data' is float64 of shape \(\)"),
        ([{"data": np.zeros((0, 3)), "label": np.zeros(0)}], "its files have no rows"),
        ([], "the list is empty"),
    ],
)
def test_mismatched_files_are_refused(tmp_path: Path, files: list[dict[str, object]], why: str) -> None:
    with pytest.raises(DataError, match=why):
        Hdf5Source(listed(tmp_path, *files), ["data", "label"])


def test_a_file_that_is_not_hdf5_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.txt: can't be opened"):
        Hdf5Source(tmp_path / "gone.txt", ["data"])
    path = listed(tmp_path, rows(2, 0), rows(2, 0))
    whole = (tmp_path / "1.h5").read_bytes()
    (tmp_path / "1.h5").write_bytes(whole[:900])
    with pytest.raises(DataError, match=r"1\.h5: can't be read"):
        Hdf5Source(path, ["data"])
    (tmp_path / "1.h5").unlink()
    with pytest.raises(DataError, match=r"1\.h5: can't be opened"):
        Hdf5Source(path, ["data"])


def external_file(folder: Path, kind: str) -> None:
    """Write a file whose data set 'label' is stored in another file, or claims more data than the file contains."""
    with h5py.File(folder / "other.h5", "w") as file:
        file["secret"] = np.arange(2.0)
    with h5py.File(folder / "0.h5", "w") as file:
        file["data"] = np.zeros((2, 3))
        match kind:
            case "external link":
                file["label"] = h5py.ExternalLink(str(folder / "other.h5"), "secret")
            case "soft link":
                file["label"] = h5py.SoftLink("/data")
            case "virtual":
                layout = h5py.VirtualLayout((2,), np.float64)
                layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "secret", (2,))
                file.create_virtual_dataset("label", layout)
            case "external storage":
                (folder / "raw").write_bytes(bytes(16))
                file.create_dataset("label", (2,), np.float64, external=[(str(folder / "raw"), 0, 16)])
            case "bomb":
                file.create_dataset("label", (1 << 40,), np.float64, chunks=(1 << 20,), compression="gzip")[:1000] = 1
            case "chunk":
                options = {"maxshape": (None,), "chunks": (1 << 28,), "compression": "gzip"}
                file.create_dataset("label", (2,), np.float32, **options)
            case "bytes that grow":
                file.create_dataset("label", (1 << 27,), np.uint8, chunks=(1 << 22,), compression="gzip")[:] = 1
            case "dimensions":
                file.create_dataset("label", (1 << 40, 1 << 40), np.float64, chunks=(1, 8))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("external link", "'label' in '/' is a link"),
        ("soft link", "'label' in '/' is a link"),
        ("virtual", "'label': the values are stored in another file"),
        ("external storage", "'label': the values are stored in another file"),
        ("bomb", "'label': the file claims to hold 1,099,511,627,776 values"),
        ("chunk", "'label': the file claims to hold 268,435,456 values"),
        (
            "bytes that grow",
            "'label' with those before it needs 536,870,912 bytes or more, but the limit 'memory' allows",
        ),
        ("dimensions", "'label': the file claims to hold 1,208,925,819,614,629,174,706,176 values"),
    ],
)
def test_external_and_missing_rows_are_refused(tmp_path: Path, kind: str, why: str) -> None:
    external_file(tmp_path, kind)
    (tmp_path / "list.txt").write_text(f"{tmp_path}/0.h5\n")
    with pytest.raises((DataError, LimitError), match=rf"0\.h5: .*{why}"):
        Hdf5Source(tmp_path / "list.txt", ["label"])


def test_all_data_sets_that_are_read_from_a_file_count_together(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "0.h5", "w") as file:
        file.create_dataset("a", (40 << 20,), np.uint8, chunks=(1 << 22,), compression="gzip")[:] = 1
        file["b"] = file["a"]  # a hard link
    (tmp_path / "list.txt").write_text(f"{tmp_path}/0.h5\n")
    Hdf5Source(tmp_path / "list.txt", ["a"])
    with pytest.raises(LimitError, match=r"0\.h5: 'b' with those before it needs 335,544,320 bytes or more"):
        Hdf5Source(tmp_path / "list.txt", ["a", "b"])


def test_the_files_of_a_list_are_charged_before_they_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "list-files=2")
    (tmp_path / "list.txt").write_text("no.h5 no.h5\nno.h5\n")
    with pytest.raises(LimitError, match=r"list\.txt: the list needs 3 files or more, .* NETDSL_LIMITS=list-files=4$"):
        Hdf5Source(tmp_path / "list.txt", ["data"])


def test_a_data_set_in_a_group_is_named_by_its_path(tmp_path: Path) -> None:
    source = Hdf5Source(listed(tmp_path, {"train/data": np.arange(3.0)}), ["train/data"])
    assert [float(source.fetch(index)[0]) for index in range(3)] == [0, 1, 2]
