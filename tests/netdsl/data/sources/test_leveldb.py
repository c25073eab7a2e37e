from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.leveldb import LevelDbFiles, LevelDbSource
from netdsl.data.writing.leveldb import LevelDbWriter
from netdsl.errors import DataError, DataWarning
from tests.leveldb_files import add_log, add_log_record, sized, write_tables


def raw(index: int) -> bytes:
    data = np.random.default_rng(index).bytes(60)
    return pb.Datum(channels=3, height=4, width=5, data=data, label=index).SerializeToString()


def pairs(count: int) -> list[tuple[bytes, bytes]]:
    return [(b"%08d" % index, raw(index)) for index in range(count)]


def in_tables(path: Path) -> Path:
    return write_tables(path, pairs(4))


def in_a_log(path: Path) -> Path:
    add_log(write_tables(path, []), [pairs(4)[2:], pairs(2)])
    return path


def contents(path: Path) -> list[tuple[bytes, bytes]]:
    files = LevelDbFiles(path)
    return [tuple(files.record(index)) for index in range(len(files))]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 2, 0], [1, 3, 0, 1, 2]])
@pytest.mark.parametrize("make", [in_tables, in_a_log])
def test_records_are_those_of_their_numbers_in_any_order(tmp_path: Path, order: list[int], make) -> None:
    source = LevelDbSource(make(tmp_path / "db"))
    assert len(source) == 4
    for index in order:
        pixels, label = source.item(source.fetch(index))
        assert pixels.shape == (3, 4, 5) and pixels.tobytes() == np.random.default_rng(index).bytes(60)
        assert label == index
    source.close()


def test_the_newest_version_of_a_key_counts_and_deleted_keys_are_gone(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "db", [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    add_log(path, [[(b"b", b"22"), (b"d", b"4")], [(b"a", None), (b"d", None), (b"e", b""), (b"b", b"222")]])
    assert contents(path) == [(b"b", b"222"), (b"c", b"3"), (b"e", b"")]


def test_values_in_several_fragments_of_a_log_are_joined(tmp_path: Path) -> None:
    records = [(b"%02d" % index, np.random.default_rng(index).bytes(index * 9000)) for index in range(12)]
    path = write_tables(tmp_path / "db", [])
    add_log(path, [records[:3], records[3:]])
    assert contents(path) == records


def test_the_database_is_left_alone_and_can_be_read_twice(tmp_path: Path) -> None:
    path = in_tables(tmp_path / "db")
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    first, second = LevelDbSource(path), LevelDbSource(path)
    assert first.fetch(1) == second.fetch(1)
    first.close()
    assert second.fetch(2).value == raw(2)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_a_path_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: there is no such folder"):
        LevelDbSource(tmp_path / "gone")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="isn't a LevelDB, because it has no CURRENT"):
        LevelDbSource(tmp_path / "folder")
    (tmp_path / "folder/CURRENT").write_text("MANIFEST-000001\n")
    with pytest.raises(DataError, match="MANIFEST-000001: the file is missing, although CURRENT names it"):
        LevelDbSource(tmp_path / "folder")
    (tmp_path / "folder/CURRENT").write_text("../../etc/passwd\n")
    with pytest.raises(DataError, match="CURRENT: byte 0: the file doesn't name a manifest"):
        LevelDbSource(tmp_path / "folder")
    with pytest.raises(DataError, match="empty: the LevelDB is empty"):
        LevelDbSource(write_tables(tmp_path / "empty", []))


def test_a_missing_a_truncated_and_a_damaged_table_are_named(tmp_path: Path) -> None:
    records = [(b"a", bytes(100)), *((key, np.random.default_rng(3).bytes(200_000)) for key in (b"b", b"c"))]
    path = write_tables(tmp_path / "db", records)
    table = path / "000002.ldb"
    content = bytearray(table.read_bytes())
    content[content.find(records[1][1][:20])] ^= 0xFF
    table.write_bytes(content)
    source = LevelDbSource(path)  # reads the keys, not the large values
    with pytest.raises(DataError, match=r"000002\.ldb: byte 0: the checksum of the block is wrong; the database is"):
        source.fetch(1)
    assert source.fetch(2).value == records[2][1]
    table.write_bytes(content[:-7])
    with pytest.raises(DataError, match=r"000002\.ldb: the file is truncated to [0-9,]+ of [0-9,]+ bytes"):
        LevelDbSource(path)
    table.write_bytes(content[:-1] + b"?")
    with pytest.raises(
        DataError, match=r"000002\.ldb: byte [0-9,]+: the end of the file isn't that of a LevelDB table"
    ):
        LevelDbSource(path)
    table.unlink()
    with pytest.raises(DataError, match=r"000002\.ldb: the file is missing, although the manifest lists it"):
        LevelDbSource(path)


def test_a_damaged_log_is_named_and_a_record_that_wasnt_finished_is_left_out(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "db", pairs(1))
    log = add_log(path, [[pair] for pair in pairs(3)[1:]])
    content = log.read_bytes()
    for size in (len(content) - 1, len(content) // 2 + 3):
        log.write_bytes(content[:size])
        with pytest.warns(DataWarning, match=r"000900\.log: a record is incomplete, so the most recent items may be"):
            assert contents(path) == pairs(2)
    log.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    with pytest.raises(DataError, match=r"000900\.log: byte 0: the checksum of a record is wrong"):
        LevelDbSource(path)


def test_a_damaged_manifest_and_keys_in_another_order_are_refused(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "db", pairs(1))
    for edit, problem in {
        b"\x07\x09": "the level is 9, but there are only 7",
        b"\x0a": "the field 10 doesn't exist in LevelDB",
        b"\x01\x7f": "the record ends within a field",
        b"\x02" + b"\xff" * 11: "a number is longer than ten bytes",
        b"\x01" + sized(b"reverse") + b"\x03\x01": "the keys are in a custom order, 'reverse'",
    }.items():
        content = bytearray()
        add_log_record(content, edit)
        (path / "MANIFEST-000001").write_bytes(content)
        with pytest.raises(DataError, match=problem):
            LevelDbSource(path)


def library_database(path: Path, *, compacted: bool, **options) -> dict[bytes, bytes]:
    plyvel = pytest.importorskip("plyvel")
    random, records = np.random.default_rng(3), dict[bytes, bytes]()
    with plyvel.DB(str(path), create_if_missing=True, **options) as database:
        for number in random.integers(0, 400, 900).tolist():
            key, value = b"%05d" % number, random.bytes(int(random.integers(200))) + bytes(number)
            records[key] = value
            database.put(key, value)
        for number in range(0, 400, 7):
            database.delete(b"%05d" % number)
            records.pop(b"%05d" % number, None)
        records[b"large"] = random.bytes(200_000)
        with database.write_batch() as batch:
            batch.put(b"large", records[b"large"])
        if compacted:
            database.compact_range()
    return records


@pytest.mark.parametrize("compacted", [True, False], ids=["in tables", "in the log"])
@pytest.mark.parametrize("compression", ["snappy", None])
@pytest.mark.parametrize("write_buffer_size", [1 << 14, 1 << 28])
def test_the_librarys_databases_are_read(
    tmp_path: Path, compacted: bool, compression: str | None, write_buffer_size: int
) -> None:
    options = {"compression": compression, "write_buffer_size": write_buffer_size}
    records = library_database(tmp_path / "db", compacted=compacted, **options)
    assert contents(tmp_path / "db") == sorted(records.items())


def test_a_database_that_another_process_has_open_is_read(tmp_path: Path) -> None:
    records = library_database(tmp_path / "db", compacted=False)
    holding = "import plyvel, sys; held = plyvel.DB(sys.argv[1]); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", holding, str(tmp_path / "db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"\n"
        assert contents(tmp_path / "db") == sorted(records.items())
        other.communicate()


@pytest.mark.parametrize("order", ["ascending", "any"])
def test_the_library_reads_and_changes_what_is_written_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    plyvel = pytest.importorskip("plyvel")
    monkeypatch.setattr("netdsl.data.writing.leveldb._TABLE_SIZE", 100_000)
    random = np.random.default_rng(4)
    values = {b"%08d_a.png" % number: random.bytes(100) + bytes(number) for number in range(900)}
    values[b"00000500_a.png"] = random.bytes(150_000)
    keys = [*values] if order == "ascending" else [list(values)[number] for number in random.permutation(900)]
    earlier = [(b"00000000_a.png", b"old")] if order == "any" else []
    path = write_tables(tmp_path / "db", [*earlier, *((key, values[key]) for key in keys)])
    assert len(list(path.glob("*.ldb"))) > 3
    assert contents(path) == sorted(values.items())
    shutil.copytree(path, tmp_path / "copy")
    with plyvel.DB(str(tmp_path / "copy"), paranoid_checks=True) as database:
        assert list(database.iterator(verify_checksums=True)) == sorted(values.items())
        database.put(b"more", b"value")
        database.compact_range()
    assert contents(tmp_path / "copy") == [*sorted(values.items()), (b"more", b"value")]


def test_a_database_isnt_written_over(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "db", pairs(1))
    with pytest.raises(FileExistsError, match="there is already a database"):
        LevelDbWriter(path)
