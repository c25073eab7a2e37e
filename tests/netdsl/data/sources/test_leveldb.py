from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import plyvel
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.leveldb import LevelDbSource
from netdsl.errors import DataError


def raw(index: int) -> bytes:
    data = np.random.default_rng(index).bytes(60)
    return pb.Datum(channels=3, height=4, width=5, data=data, label=index).SerializeToString()


def database(path: Path, count: int) -> Path:
    with plyvel.DB(str(path), create_if_missing=True) as written:
        for index in range(count):
            written.put(b"%08d" % index, raw(index))
    return path


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 2, 0], [1, 3, 0, 1, 2]])
@pytest.mark.parametrize("compacted", [True, False], ids=["in tables", "in the log"])
def test_records_are_read_by_number_in_any_order(tmp_path: Path, order: list[int], compacted: bool) -> None:
    database(tmp_path / "db", 4)
    if compacted:
        with plyvel.DB(str(tmp_path / "db")) as opened:
            opened.compact_range()
    source = LevelDbSource(tmp_path / "db")
    assert len(source) == 4
    for index in order:
        pixels, label = source.item(source.fetch(index))
        assert pixels.shape == (3, 4, 5) and pixels.tobytes() == np.random.default_rng(index).bytes(60)
        assert label == index
    source.close()


def test_the_database_is_unchanged_and_can_be_read_twice(tmp_path: Path) -> None:
    path = database(tmp_path / "db", 3)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    first, second = LevelDbSource(path), LevelDbSource(path)
    assert first.fetch(1) == second.fetch(1)
    first.close()
    assert second.fetch(2).value == raw(2)
    second.close()
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_a_database_that_another_process_has_open_is_read(tmp_path: Path) -> None:
    path = database(tmp_path / "db", 3)
    holding = "import plyvel, sys; held = plyvel.DB(sys.argv[1]); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", holding, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"\n"
        source = LevelDbSource(path)
        assert source.fetch(2).value == raw(2)
        source.close()
        other.communicate()


def test_a_path_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: there is no such folder"):
        LevelDbSource(tmp_path / "gone")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="isn't a LevelDB, because it has no CURRENT"):
        LevelDbSource(tmp_path / "folder")
    (tmp_path / "folder/CURRENT").write_text("MANIFEST-000001\n")
    with pytest.raises(DataError, match="folder: can't be read as a LevelDB"):
        LevelDbSource(tmp_path / "folder")
    with pytest.raises(DataError, match="empty: the LevelDB is empty"):
        LevelDbSource(database(tmp_path / "empty", 0))


def test_a_missing_table_and_damaged_bytes_are_reported(tmp_path: Path) -> None:
    path = database(tmp_path / "db", 300)
    with plyvel.DB(str(path)) as opened:
        opened.compact_range()
    table = max(path.glob("*.ldb"), key=lambda file: file.stat().st_size)
    shutil.copytree(path, tmp_path / "damaged")
    table.unlink()
    with pytest.raises(DataError, match=r"db: can't be read as a LevelDB: .*missing"):
        LevelDbSource(path)
    damaged = tmp_path / "damaged" / table.name
    content = bytearray(damaged.read_bytes())
    content[content.find(np.random.default_rng(2).bytes(20))] ^= 0xFF
    damaged.write_bytes(content)
    source = LevelDbSource(tmp_path / "damaged")
    with pytest.raises(DataError, match="damaged: record number 2 can't be read"):
        source.fetch(2)
    source.close()
