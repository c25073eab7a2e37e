"""LMDB: records in the order of keys, files that LMDB's own library wrote, and damaged files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import lmdb
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.lmdb import LMDB_FILE, LmdbFile, LmdbSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError, DataWarning
from tests.small_data import png, write_lmdb

SHAPE = (3, 4, 5)


def database(path: Path, values: Iterable[bytes]) -> Path:
    return write_lmdb(path, ((b"%08d_x.png" % index, value) for index, value in enumerate(values)))


def image(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, SHAPE, dtype=np.uint8)


def raw(index: int) -> bytes:
    datum = pb.Datum(channels=3, height=4, width=5, data=image(index).tobytes(), label=index * 10)
    return datum.SerializeToString()


def encoded(pixels: np.ndarray, label: int = 7) -> bytes:
    return pb.Datum(data=png(pixels), encoded=True, label=label).SerializeToString()


def only(path: Path, value: bytes, color: Color = Color.AS_STORED) -> tuple[np.ndarray, ...]:
    source = LmdbSource(database(path, [value]), color)
    return source.item(source.fetch(0))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 2, 0], [1, 3, 0, 1, 2, 0], [199, 0, 70, 69, 199, 5, 0]])
def test_records_are_read_by_number_in_any_order(tmp_path: Path, order: list[int]) -> None:
    source = LmdbSource(database(tmp_path / "db", map(raw, range(200))))
    assert len(source) == 200
    for index in order:
        record = source.fetch(index)
        pixels, label = source.item(record)
        assert record.key == b"%08d_x.png" % index
        assert pixels.dtype == np.uint8 and (pixels == image(index)).all()
        assert label == index * 10 and label.dtype == np.float32


def test_no_files_are_written_next_to_the_database(tmp_path: Path) -> None:
    path = database(tmp_path / "db", [raw(0)])
    LmdbSource(path).fetch(0)
    assert [file.name for file in path.iterdir()] == ["data.mdb"]


def test_two_sources_of_one_database_are_independent(tmp_path: Path) -> None:
    path = database(tmp_path / "db", map(raw, range(4)))
    first, second = LmdbSource(path), LmdbSource(path)
    assert first.fetch(0).value == raw(0)
    assert second.fetch(2).value == raw(2)
    second.close()
    assert first.fetch(1).value == raw(1)


def test_two_databases_are_distinguished(tmp_path: Path) -> None:
    first, second = (LmdbSource(database(tmp_path / str(index), [raw(index)])) for index in range(2))
    assert (first.fetch(0).value, second.fetch(0).value) == (raw(0), raw(1))


def test_a_database_that_replaced_a_closed_one_is_read(tmp_path: Path) -> None:
    source = LmdbSource(database(tmp_path / "db", [raw(1)]))
    source.close()
    (tmp_path / "db").rename(tmp_path / "old")
    again = LmdbSource(database(tmp_path / "db", [raw(2)]))
    assert again.fetch(0).value == raw(2)


def test_an_encoded_image_is_decoded_as_stored_or_as_requested(tmp_path: Path) -> None:
    colored = image(0).transpose(1, 2, 0)
    assert (only(tmp_path / "a", encoded(colored))[0] == image(0)).all()
    gray = only(tmp_path / "b", encoded(colored), Color.GRAY)[0]
    brightness = np.tensordot([0.114, 0.587, 0.299], image(0), 1)
    assert np.abs(gray[0] - brightness).max() <= 1  # the PNG reader rounds differently
    assert only(tmp_path / "c", encoded(colored[:, :, 0]))[0].shape == (1, 4, 5)
    repeated = only(tmp_path / "d", encoded(colored[:, :, 0]), Color.COLOR)[0]
    assert (repeated == colored[:, :, 0]).all() and repeated.shape == SHAPE


def test_force_color_and_force_gray_set_the_channels() -> None:
    assert Color.of(pb.TransformationParameter()) is Color.AS_STORED
    assert Color.of(pb.TransformationParameter(force_color=True)) is Color.COLOR
    assert Color.of(pb.TransformationParameter(force_gray=True)) is Color.GRAY
    with pytest.raises(DataError, match="both"):
        Color.of(pb.TransformationParameter(force_color=True, force_gray=True))


def test_float_data_is_used_if_there_are_no_bytes(tmp_path: Path) -> None:
    values = [0.5, -1.5, 2.25, 1e9, 0, 7]
    pixels, _ = only(tmp_path / "db", pb.Datum(channels=1, height=2, width=3, float_data=values).SerializeToString())
    assert pixels.dtype == np.float32 and pixels.tolist() == [[values[:3], values[3:]]]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"\xff\xff\xff", "not a Datum"),
        (pb.Datum(channels=3, height=4, width=5, data=b"x" * 59).SerializeToString(), "59 values.*needs 60"),
        (pb.Datum(channels=1, height=4, width=5, float_data=[1]).SerializeToString(), "1 values.*needs 20"),
        (pb.Datum(label=3).SerializeToString(), "isn't an image"),
        (pb.Datum(data=b"isn't an image", encoded=True).SerializeToString(), "can't be decoded"),
        (pb.Datum(encoded=True).SerializeToString(), "can't be decoded"),
        (encoded(np.zeros((4, 5), np.uint16)), "uint16"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, value: bytes, why: str) -> None:
    with pytest.raises(DataError, match=f"db: record '00000000_x.png': .*{why}"):
        only(tmp_path / "db", value)


def test_a_path_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: there is no such folder"):
        LmdbSource(tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file: the path is a file, but an LMDB is a folder"):
        LmdbSource(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=r"folder: the folder isn't an LMDB, because it has no data\.mdb"):
        LmdbSource(tmp_path / "folder")
    (tmp_path / "folder/data.mdb").write_bytes(b"x" * 9000)
    with pytest.raises(DataError, match=r"folder: can't be opened as an LMDB: .*MDB_INVALID"):
        LmdbSource(tmp_path / "folder")
    with pytest.raises(DataError, match="empty: the LMDB is empty"):
        LmdbSource(database(tmp_path / "empty", []))


def test_a_database_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    file = database(tmp_path / "db", map(raw, range(200))) / "data.mdb"
    whole = file.read_bytes()
    file.write_bytes(whole[:-4096])
    with pytest.raises(DataError, match=r"truncated: it has .* of .* bytes"):
        LmdbSource(tmp_path / "db")
    file.write_bytes(whole)
    assert len(LmdbSource(tmp_path / "db")) == 200


PAGE = 4096
SIZES = {
    "small": lambda random: random.randrange(300),
    "large": lambda random: random.randrange(2000, 20_000),
    "mixed": lambda random: random.choice([0, 1, 2030, PAGE, 2 * PAGE - 16, 2 * PAGE - 15, random.randrange(100)]),
}


def written_in_transactions(path: Path, count: int, size: Callable[[Random], int]) -> list[tuple[bytes, bytes]]:
    """Write a database in several transactions, some of which delete records. Returns it with its records."""
    random = Random(count)
    with lmdb.open(str(path), map_size=1 << 28, sync=False) as environment:
        keys = []
        for start in range(0, count, 500):
            with environment.begin(write=True) as transaction:
                for _ in range(start, min(start + 500, count)):
                    keys.append(b"%08d_%s" % (random.randrange(10**8), b"x" * random.randrange(60)))
                    transaction.put(keys[-1], random.randbytes(size(random)))
        with environment.begin(write=True) as transaction:
            for key in random.sample(keys, len(keys) // 10):
                transaction.delete(key)
        with environment.begin() as transaction:
            return list(transaction.cursor())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 5, 60, 2500])
def test_records_equal_those_that_lmdb_reads(tmp_path: Path, count: int, size: str) -> None:
    records = written_in_transactions(tmp_path, count, SIZES[size])
    in_order, shuffled = LmdbFile(tmp_path), LmdbFile(tmp_path)
    assert len(in_order) == len(records)
    assert [in_order.record(index) for index in range(len(records))] == records
    for index in Random(1).sample(range(len(records)), len(records)):
        assert shuffled.record(index) == records[index]


def test_many_threads_read_one_file(tmp_path: Path) -> None:
    records = written_in_transactions(tmp_path, 2000, SIZES["mixed"])
    file, order = LmdbFile(tmp_path), Random(2).choices(range(len(records)), k=4000)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(file.record, order)) == [records[index] for index in order]


def test_every_record_of_a_damaged_file_is_read_or_refused(tmp_path: Path) -> None:
    written_in_transactions(tmp_path, 300, SIZES["mixed"])
    path, random = tmp_path / LMDB_FILE, Random(3)
    whole = path.read_bytes()
    for _ in range(300):
        data = bytearray(whole)
        place = random.choice([0, PAGE, random.randrange(len(data) // PAGE) * PAGE]) + random.randrange(0, 200, 2)
        data[place : place + 2] = random.choice([b"\0\0", b"\xff\xff", random.randbytes(2)])
        path.write_bytes(data)
        try:
            file = LmdbFile(tmp_path)
            for index in range(len(file)):
                file.record(index)
        except (DataError, DataWarning) as problem:
            assert str(problem).startswith(f"{tmp_path}: ")


def damage(path: Path, place: int, data: bytes) -> None:
    with (path / LMDB_FILE).open("r+b") as file:
        file.seek(place)
        file.write(data)


def test_the_other_meta_page_is_used_if_one_is_damaged(tmp_path: Path) -> None:
    records = written_in_transactions(tmp_path, 60, SIZES["small"])
    whole = (tmp_path / LMDB_FILE).read_bytes()
    counts = []
    for place in (0, PAGE):
        (tmp_path / LMDB_FILE).write_bytes(whole)
        damage(tmp_path, place + 16, b"xxxx")
        with pytest.warns(DataWarning, match="one of its two meta pages is damaged, so the records that were written"):
            counts.append(len(LmdbFile(tmp_path)))
    assert sorted(counts) == [len(records), 60]  # before the last transaction, the deleted records are still present
    damage(tmp_path, 16, b"xxxx")
    with pytest.raises(
        DataError, match=r"can.t be opened as an LMDB: data\.mdb isn.t an LMDB file, or is damaged at its start"
    ):
        LmdbFile(tmp_path)


def test_a_damaged_page_is_named_and_record_numbers_stay(tmp_path: Path) -> None:
    records = written_in_transactions(tmp_path, 2500, SIZES["small"])
    key, _ = records[1200]
    number = (tmp_path / LMDB_FILE).read_bytes().rindex(key) // PAGE
    damage(tmp_path, number * PAGE, b"\xff" * 16)
    damaged = LmdbFile(tmp_path)
    readable = 0
    with pytest.raises(DataError, match=f"damaged: page {number} isn't a leaf"):
        while True:
            assert damaged.record(readable) == records[readable]
            readable += 1
    assert 1100 < readable <= 1200
    for index in (readable, readable + 1, readable, len(records) - 1):
        with pytest.raises(DataError, match=f"damaged: page {number} isn't a leaf"):
            damaged.record(index)
    assert damaged.record(3) == records[3]


def test_a_cyclic_tree_ends_with_an_error(tmp_path: Path) -> None:
    written_in_transactions(tmp_path, 2500, SIZES["small"])
    with lmdb.open(str(tmp_path), readonly=True, lock=False) as environment:
        assert environment.stat()["depth"] == 3
    whole = (tmp_path / LMDB_FILE).read_bytes()
    newest = max((0, PAGE), key=lambda place: int.from_bytes(whole[place + 144 : place + 152], "little"))
    root = int.from_bytes(whole[newest + 128 : newest + 136], "little")
    page = whole[root * PAGE : (root + 1) * PAGE]
    first_node = int.from_bytes(page[16:18], "little")
    damage(tmp_path, root * PAGE + first_node, root.to_bytes(4, "little"))
    with pytest.raises(DataError, match="the tree of its pages leads out of the file, or to a page twice"):
        LmdbFile(tmp_path).record(0)


def test_features_that_caffe_never_writes_are_refused(tmp_path: Path) -> None:
    for name, several in (("named", False), ("several", True)):
        with (
            lmdb.open(str(tmp_path / name), max_dbs=1) as environment,
            environment.begin(write=True) as transaction,
        ):
            child = None if several else environment.open_db(b"child", transaction)
            transaction.put(b"key", b"value", db=child)
    with pytest.raises(DataError, match="contains nested databases or several values for a key"):
        LmdbFile(tmp_path / "named").record(0)
    path = tmp_path / "several"
    for place in (16, PAGE + 16):
        damage(path, place + 4 + 4 + 8 + 8 + 48 + 4, b"\4\0")  # the database's flags
    with pytest.raises(DataError, match="its keys can have several values"):
        LmdbFile(path)
    damage(path, 12, (0xBEEFC0DE).to_bytes(4, "little") + bytes(16))
    damage(path, PAGE + 16, bytes(4))
    with pytest.raises(DataError, match="it is from a 32-bit machine"):
        LmdbFile(path)
