"""Pipes, devices and files with huge claims: every reader of data refuses them before they fill memory or time."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import LimitError
from caffe_proto.limits import VARIABLE
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.table_files import TableFiles, TableFormat
from netdsl.data.sources.windows import read_windows
from netdsl.errors import DataError
from netdsl.pycaffe.io import load_image


def first_item(name: str) -> None:
    source = open_source(name)
    source.item(source.fetch(0))


def of_list(kind: str, line: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        (path.parent / "list.txt").write_text(line.format(path))
        first_item(f"{kind}:{path.parent}/list.txt")

    return read


def in_folder(kind: str, *names: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        (path.parent / "folder/class").mkdir(parents=True)
        for name in names:
            (path.parent / "folder" / name).symlink_to(path)
        first_item(f"{kind}:{path.parent}/folder")

    return read


READERS = {
    "csv": lambda path: first_item(f"csv:{path}"),
    "images": lambda path: first_item(f"images:{path}"),
    "image": of_list("images", "{} 1"),
    "hdf5 list": lambda path: first_item(f"hdf5:{path}"),
    "hdf5": of_list("hdf5", "{}"),
    "netcdf": lambda path: first_item(f"netcdf:{path}?x=data"),
    "arrow": lambda path: first_item(f"arrow:{path}"),
    "parquet": lambda path: first_item(f"parquet:{path}"),
    "arrow table": lambda path: len(TableFiles(TableFormat.ARROW, str(path))),
    "parquet table": lambda path: len(TableFiles(TableFormat.PARQUET, str(path))),
    "windows": lambda path: read_windows(pb.WindowDataParameter(source=str(path))),
    "idx": in_folder("mnist", "train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "packed idx": in_folder("mnist", "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "cifar": in_folder("cifar10", "data_batch_1.bin"),
    "folder": in_folder("folder", "class/a.png"),
    "labels": in_folder("folder", "labels.txt"),
    "lmdb": in_folder("lmdb", "data.mdb"),
    "leveldb": in_folder("leveldb", "CURRENT"),
    "load_image": load_image,
}


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", READERS)
def test_pipes_and_devices_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"is not a regular file|has no data\.mdb|has no CURRENT"):
        READERS[name](path)


@pytest.mark.parametrize("name", ["csv:x", "images:x", "hdf5:x"])
def test_a_line_without_an_end_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with Path("x").open("wb") as file:
        file.truncate(1 << 26)  # a sparse file of zeros
    with pytest.raises(LimitError, match=r"^x: line 1 needs .* characters or more, but the limit 'line-characters'"):
        open_source(name)


@pytest.mark.parametrize(
    ("setting", "needed"),
    [
        ("list-bytes=11", "the file needs [0-9]+ bytes"),
        ("list-lines=2", "the file needs 3 lines"),
        ("line-characters=3", "line 1 needs 4 characters"),
    ],
)
@pytest.mark.parametrize(
    ("name", "text"), [("csv:x", "x,label\n1,2\n3,4\n"), ("images:x", "a 1\nb 2\nc 3\n"), ("hdf5:x", "a.h5\nb.h5\nc\n")]
)
def test_lists_are_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, setting: str, needed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, setting)
    Path("x").write_text(text)
    with pytest.raises(LimitError, match=f"^x: {needed} or more, .* NETDSL_LIMITS={setting.partition('=')[0]}="):
        open_source(name)


def test_an_oversized_image_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(1 << 34)
    with pytest.raises(DataError, match=r"a\.png: the file has 17,179,869,184 bytes, more than the largest image"):
        of_list("images", "{} 1")(tmp_path / "a.png")


def test_an_impossible_size_in_a_packed_file_is_refused(tmp_path: Path) -> None:
    header = struct.pack(">BBBB3I", 0, 0, 8, 3, 2**31, 2**31, 2**31)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(header))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBIB", 0, 0, 8, 1, 1, 7))
    with pytest.raises(DataError, match=r"need 9,903,520,314,283,042,199,192,993,792 bytes; it is truncated"):
        open_source(f"mnist:{tmp_path}")
