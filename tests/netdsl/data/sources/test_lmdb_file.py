"""The file of an LMDB beside what LMDB's own library reads of it, whole and damaged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import lmdb
import pytest

from netdsl.data.sources.lmdb import LMDB_FILE, LmdbFile
from netdsl.errors import DataError, DataWarning

PAGE = 4096
SIZES = {
    "small": lambda random: random.randrange(300),
    "large": lambda random: random.randrange(2000, 20_000),
    "mixed": lambda random: random.choice([0, 1, 2030, PAGE, 2 * PAGE - 16, 2 * PAGE - 15, random.randrange(100)]),
}


def database(path: Path, count: int, size: Callable[[Random], int]) -> list[tuple[bytes, bytes]]:
    """A database that was written in several transactions, with some records deleted again; and its records."""
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
def test_records_are_those_that_lmdb_reads(tmp_path: Path, count: int, size: str) -> None:
    records = database(tmp_path, count, SIZES[size])
    in_order, shuffled = LmdbFile(tmp_path), LmdbFile(tmp_path)
    assert len(in_order) == len(records)
    assert [in_order.record(index) for index in range(len(records))] == records
    for index in Random(1).sample(range(len(records)), len(records)):
        assert shuffled.record(index) == records[index]


def test_many_threads_read_one_file(tmp_path: Path) -> None:
    records = database(tmp_path, 2000, SIZES["mixed"])
    file, order = LmdbFile(tmp_path), Random(2).choices(range(len(records)), k=4000)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(file.record, order)) == [records[index] for index in order]


def test_all_of_a_damaged_file_is_read_or_refused(tmp_path: Path) -> None:
    database(tmp_path, 300, SIZES["mixed"])
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


def test_the_other_meta_page_serves_if_one_is_damaged(tmp_path: Path) -> None:
    records = database(tmp_path, 60, SIZES["small"])
    whole = (tmp_path / LMDB_FILE).read_bytes()
    counts = []
    for place in (0, PAGE):
        (tmp_path / LMDB_FILE).write_bytes(whole)
        damage(tmp_path, place + 16, b"xxxx")
        with pytest.warns(DataWarning, match="one of its two meta pages is damaged, so the records that were written"):
            counts.append(len(LmdbFile(tmp_path)))
    assert sorted(counts) == [len(records), 60]  # what was deleted by the last transaction is there before it
    damage(tmp_path, 16, b"xxxx")
    with pytest.raises(DataError, match=r"can.t be opened as an LMDB: data\.mdb isn.t LMDB.s, or damaged at its start"):
        LmdbFile(tmp_path)


def test_a_damaged_page_is_named_and_no_record_takes_the_number_of_another(tmp_path: Path) -> None:
    records = database(tmp_path, 2500, SIZES["small"])
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


def test_a_tree_that_leads_back_to_itself_ends(tmp_path: Path) -> None:
    database(tmp_path, 2500, SIZES["small"])
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


def test_what_caffe_never_writes_is_told(tmp_path: Path) -> None:
    for name, several in (("named", False), ("several", True)):
        with (
            lmdb.open(str(tmp_path / name), max_dbs=1) as environment,
            environment.begin(write=True) as transaction,
        ):
            child = None if several else environment.open_db(b"child", transaction)
            transaction.put(b"key", b"value", db=child)
    with pytest.raises(DataError, match="has databases in it, or several values of a key"):
        LmdbFile(tmp_path / "named").record(0)
    path = tmp_path / "several"
    for place in (16, PAGE + 16):
        damage(path, place + 4 + 4 + 8 + 8 + 48 + 4, b"\4\0")  # the flags of the database
    with pytest.raises(DataError, match="its keys have several values each"):
        LmdbFile(path)
    damage(path, 12, (0xBEEFC0DE).to_bytes(4, "little") + bytes(16))
    damage(path, PAGE + 16, bytes(4))
    with pytest.raises(DataError, match="it is from a 32-bit machine"):
        LmdbFile(path)
