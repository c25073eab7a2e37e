"""Opening sources by name: every kind, and every path whose content shows its kind."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import MissingExtraError
from netdsl.data.sources import known_sets, netcdf
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.open_source import (
    find_source,
    has_kind_prefix,
    open_annotated_set,
    open_source,
    parse_joined,
    parse_source,
)
from netdsl.data.sources.source import DataSplit
from netdsl.data.sources.source_name import KINDS, Content, SourceKind
from netdsl.data.tables import arrow
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color
from netdsl.data.writing import contact_sheet
from netdsl.data.writing.sample_files import write_video
from netdsl.errors import DataError, RegistryError
from netdsl.registry import register_source
from tests.leveldb_files import write_tables
from tests.small_data import png, write_lmdb, write_tar

netCDF4 = pytest.importorskip("netCDF4")  # noqa: N816


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a source of every kind, each with another label in its first item."""
    monkeypatch.chdir(tmp_path)
    image = png(np.full((4, 5, 3), 9, np.uint8))
    write_lmdb(tmp_path / "an_lmdb", [(b"0", pb.Datum(data=image, label=1, encoded=True).SerializeToString())])
    write_tables(tmp_path / "a_leveldb", [(b"0", pb.Datum(data=image, label=2, encoded=True).SerializeToString())])
    for prefix, label in {"train": 3, "t10k": 4}.items():
        Path("idx").mkdir(exist_ok=True)
        Path(f"idx/{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, 1, 4, 5) + bytes(20))
        Path(f"idx/{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, 1) + bytes([label]))
    for folder, name, labels in [("ten", "test_batch.bin", [5]), ("hundred", "train.bin", [9, 6])]:
        Path(folder).mkdir()
        Path(folder, name).write_bytes(bytes([*labels]) + bytes(3072))
    Path("t.csv").write_text("a,label,b\n1,7,2\n")
    with netCDF4.Dataset("t.nc", "w") as file:
        file.createDimension("item", 1)
        file.createVariable("v", "f4", ("item",))[:] = [0.5]
        file.createVariable("w", "f4", ("item",))[:] = [8]
    pq.write_table(pa.table({"image": [image], "label": [9], "name": ["x"]}), "t.parquet")
    rows = pa.record_batch({"image": [image], "label": [14], "name": ["x"]})
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows)
    Path("class/cat").mkdir(parents=True)
    Path("class/cat/0.png").write_bytes(image)
    write_tar(Path("tars/a.tar"), {"0.png": image, "0.cls": b"15", "0.json": b'{"n": 16}'})
    Path("list.txt").write_text("cat/0.png 11\n")
    with h5py.File("t.h5", "w") as file:
        file["data"], file["label"], file["other"] = np.zeros((1, 2)), [12], [13]
    Path("h5list.txt").write_text("t.h5\n")
    write_video(np.zeros((2, 3, 16, 16), np.uint8), tmp_path)
    return tmp_path


CASES = [
    ("lmdb:an_lmdb", 1),
    ("an_lmdb", 1),
    ("leveldb:a_leveldb", 2),
    ("a_leveldb", 2),
    ("mnist:idx", 3),
    ("mnist:idx:train", 3),
    ("mnist:idx:test", 4),
    ("idx", 3),
    ("idx/t10k-images-idx3-ubyte", 4),
    ("cifar10:ten:test", 5),
    ("cifar100:hundred", 6),
    ("hundred", 6),
    ("csv:t.csv", 7),
    ("t.csv", 7),
    ("t.csv?label=b&columns=a", 2),
    ("netcdf:t.nc?x=v&y=w", 8),
    ("t.nc?x=v&y=w", 8),
    ("parquet:t.parquet?columns=image,label", 9),
    ("t.parquet?columns=image,label", 9),
    ("arrow:t.arrow?columns=image,label", 14),
    ("t.arrow?columns=image,label", 14),
    ("folder:class", 0),
    ("class", 0),
    ("shards:tars", 15),
    ("tars", 15),
    ("tars/a.tar", 15),
    ("shards:tars/a.tar?image=png&label=json.n", 16),
    ("images:list.txt?root=class", 11),
    ("list.txt?root=class/", 11),
    ("hdf5:h5list.txt", 12),
    ("h5list.txt?names=data,other", 13),
    ("video:video.avi", 0),
    ("video.avi", 0),
    ("digits", 0),
    ("digits:train", 0),
    ("digits:test", 5),
    ("shapes", 0),
    ("shapes:test", 0),
    ("shapes?kinds=ring,cross", 0),
    ("shapes:train?kinds=ring,cross", 0),
]


@pytest.mark.parametrize(("name", "label"), CASES)
def test_a_name_opens_its_source(data: Path, name: str, label: float) -> None:
    source = open_source(name)
    item = source.item(source.fetch(0))
    source.close()
    assert item[1].item() == label


def test_every_kind_of_source_is_tested_here() -> None:
    assert {re.split("[:?]", name)[0] for name, _ in CASES} >= {
        kind for kind, form in KINDS.items() if form.open is not None
    }


@pytest.mark.parametrize(
    ("name", "columns", "label"),
    [
        ("parquet:t.parquet", ["image", "label"], 9),
        ("t.arrow", ["image", "label"], 14),
        ("netcdf:t.nc", ["v", "w"], 8),
        ("h5list.txt", ["data", "other"], 13),
    ],
)
def test_columns_can_be_chosen_in_sources_with_column_names(
    data: Path, name: str, columns: list[str], label: float
) -> None:
    assert parse_source(name).chooses_columns
    source = open_source(name, blobs=[BlobColumn(column, column) for column in columns])
    item = source.item(source.fetch(0))
    source.close()
    assert (len(item), item[1].item()) == (2, label)


@pytest.mark.parametrize("name", ["digits:test", "t.csv", "an_lmdb", "t.parquet?columns=label", "t.nc?x=v"])
def test_choosing_columns_without_names_or_twice_is_refused(data: Path, name: str) -> None:
    assert not parse_source(name).chooses_columns


@pytest.mark.parametrize("name", ["an_lmdb", "a_leveldb", "t.parquet?columns=image", "class", "list.txt?root=class"])
def test_encoded_images_can_be_read_in_gray(data: Path, name: str) -> None:
    for color, channels in ((Color.AS_STORED, 3), (Color.COLOR, 3), (Color.GRAY, 1)):
        source = open_source(name, color=color)
        image = source.item(source.fetch(0))[0]
        source.close()
        assert image.shape == (channels, 4, 5)


def test_a_file_named_like_a_kind_is_a_file(data: Path) -> None:
    Path("digits").mkdir()
    Path("class/cat").rename("digits/dog")
    source = open_source("digits")
    assert source.item(source.fetch(0))[0].shape == (3, 4, 5)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (
            "gone",
            "gone: there is no such file or folder; name it as KIND:PATH, where KIND is one of lmdb, leveldb, mnist",
        ),
        ("lmbd:an_lmdb", "lmbd:an_lmdb: there is no such file"),
        ("t.h5", "t.h5: its kind can't be recognized; name it as KIND:PATH, where KIND is one of lmdb"),
        ("class/cat", "class/cat: its kind can't be recognized"),
        (
            "t.csv?lable=b",
            "csv:t.csv?lable=b: there is no option 'lable'; write the name as csv:PATH?columns=A,B&label=C",
        ),
        ("cifar10:ten:val", "ten:val"),
        ("digits:val", "digits:val: there is no such source; choose from digits, digits:train, digits:test"),
        ("voc:class", "voc:class: the data are images with marked objects, not items; name items as lmdb:PATH"),
        ("lmdb:an_lmdb?first_pixel=1", "lmdb:an_lmdb?first_pixel=1: first_pixel only applies to marked objects"),
    ],
)
def test_a_name_that_is_not_a_source_is_refused(data: Path, name: str, what: str) -> None:
    with pytest.raises(DataError) as problem:
        open_source(name)
    assert str(problem.value).startswith(what)


def test_a_source_without_items_is_refused(data: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), "none.parquet")
    with pytest.raises(DataError, match=r"none.parquet: there are no items"):
        open_source("none.parquet")


@pytest.mark.parametrize(
    ("module", "library"),
    [
        ("netCDF4", netcdf._library),
        ("pyarrow.parquet", arrow.arrow),
        ("sklearn", known_sets._digits_file),
        ("PIL.ImageDraw", contact_sheet.pillow),
    ],
)
def test_a_missing_library_is_reported_with_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, library: Callable[[], Any]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'netdsl\[data\]'"):
        library()


def test_full_names_and_parts_are_parsed(data: Path) -> None:
    (data / "db").mkdir()
    (data / "db/data.mdb").touch()
    (data / "digits").mkdir()
    assert not has_kind_prefix("digits")  # a folder of that name exists
    assert (
        has_kind_prefix("digits:test"),
        has_kind_prefix("lmdb:db"),
        has_kind_prefix("db"),
        has_kind_prefix("x"),
    ) == (True, True, False, False)
    assert [
        str(parse_source(name).with_split(DataSplit.TRAIN))
        for name in ("db", "digits:", "digits:test", "mnist:m?part=test", "mnist:m:test", "mnist:test")
    ] == [
        *("lmdb:db", "digits:train", "digits:test", "mnist:m:train?part=test", "mnist:m:test", "mnist:test:train"),
    ]


def test_a_sources_kind_describes_its_items(data: Path) -> None:
    (data / "a.json").write_text("{}")
    names = {
        **dict.fromkeys(("digits", "an_lmdb", "lmdb:an_lmdb", "t.csv"), Content.ITEMS),
        **dict.fromkeys(("objects:test", "people", "a.json", "voc:x"), Content.MARKED_IMAGES),
        "captions:a.json": Content.CAPTIONS,
        "text:t.csv": Content.TEXT,
    }
    assert {name: parse_source(name).content for name in names} == names
    assert find_source("no/such/path") is None is find_source("t.h5")


def test_parts_and_numbers_of_annotated_sets_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("20\n5\n11\n")
    whole = open_annotated_set("objects:train?side=32")
    chosen = open_annotated_set(f"objects:train?side=32&items={tmp_path / 'items.txt'}")
    assert [chosen.image(index) for index in range(len(chosen))] == [whole.image(index) for index in (20, 5, 11)]
    part = open_annotated_set(f"objects:train?side=32&part=test&items={tmp_path / 'items.txt'}")
    assert len(part) == 1 and part.image(0) == whole.image(20)
    with pytest.raises(DataError, match="the part has no images, although the whole set has 1"):
        open_annotated_set("objects?count=1&part=train")


def test_several_sets_with_proposals_are_several_names() -> None:
    first, second = parse_joined("voc:a?set=train&proposals=p.npz+coco:b.json?images=i")
    source, file = first.without_proposals()
    assert (str(source), file) == ("voc:a?set=train", "p.npz") and second.without_proposals() == (second, None)
    with pytest.raises(DataError, match=r"voc:a\?set=train&proposals=p.npz: proposals are for layers that learn"):
        first.open_marked()
    assert [str(name) for name in parse_joined("csv:a+b.csv")] == ["csv:a+b.csv"]


def test_a_registered_kind_works_like_a_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    form = SourceKind("ones:COUNT", lambda spec: ArraySource([(np.ones((int(spec.path), 2)), np.ones(3))]))
    monkeypatch.setattr(KINDS, "_values", {**KINDS})
    register_source("ones", form)
    assert len(open_source("ones:3?part=test")) == 1
    with pytest.raises(RegistryError, match="the kind of data 'csv' is defined twice"):
        register_source("csv", form)
    assert find_source("ones:3") and not find_source("one:3")
