from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import cv2
import lmdb
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError

SHAPE = (3, 4, 5)


def database(path: Path, values: Iterable[bytes]) -> Path:
    with lmdb.open(str(path), map_size=1 << 24) as environment, environment.begin(write=True) as transaction:
        for index, value in enumerate(values):
            transaction.put(b"%08d_x.png" % index, value)
    (path / "lock.mdb").unlink()
    return path


def image(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, SHAPE, dtype=np.uint8)


def raw(index: int) -> bytes:
    datum = pb.Datum(channels=3, height=4, width=5, data=image(index).tobytes(), label=index * 10)
    return datum.SerializeToString()


def encoded(pixels: np.ndarray, label: int = 7) -> bytes:
    return pb.Datum(data=cv2.imencode(".png", pixels)[1].tobytes(), encoded=True, label=label).SerializeToString()


def only(path: Path, value: bytes, color: Color = Color.AS_STORED) -> tuple[np.ndarray, ...]:
    source = LmdbSource(database(path, [value]), color)
    return source.item(source.fetch(0))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 2, 0], [1, 3, 0, 1, 2, 0], [199, 0, 70, 69, 199, 5, 0]])
def test_records_are_those_of_their_numbers_in_any_order(tmp_path: Path, order: list[int]) -> None:
    source = LmdbSource(database(tmp_path / "db", map(raw, range(200))))
    assert len(source) == 200
    for index in order:
        record = source.fetch(index)
        pixels, label = source.item(record)
        assert record.key == b"%08d_x.png" % index
        assert pixels.dtype == np.uint8 and (pixels == image(index)).all()
        assert label == index * 10 and label.dtype == np.float32


def test_nothing_is_written_beside_the_database(tmp_path: Path) -> None:
    path = database(tmp_path / "db", [raw(0)])
    LmdbSource(path).fetch(0)
    assert [file.name for file in path.iterdir()] == ["data.mdb"]


def test_two_sources_of_one_database_go_their_own_ways(tmp_path: Path) -> None:
    path = database(tmp_path / "db", map(raw, range(4)))
    first, second = LmdbSource(path), LmdbSource(path)
    assert first.fetch(0).value == raw(0)
    assert second.fetch(2).value == raw(2)
    second.close()
    assert first.fetch(1).value == raw(1)


def test_two_databases_are_told_apart(tmp_path: Path) -> None:
    first, second = (LmdbSource(database(tmp_path / str(index), [raw(index)])) for index in range(2))
    assert (first.fetch(0).value, second.fetch(0).value) == (raw(0), raw(1))


def test_a_database_that_took_the_place_of_a_closed_one_is_read(tmp_path: Path) -> None:
    source = LmdbSource(database(tmp_path / "db", [raw(1)]))
    source.close()
    (tmp_path / "db").rename(tmp_path / "old")
    again = LmdbSource(database(tmp_path / "db", [raw(2)]))
    assert again.fetch(0).value == raw(2)


def test_an_encoded_image_is_decoded_as_it_is_stored_or_as_is_asked(tmp_path: Path) -> None:
    colored = image(0).transpose(1, 2, 0)
    assert (only(tmp_path / "a", encoded(colored))[0] == image(0)).all()
    gray = only(tmp_path / "b", encoded(colored), Color.GRAY)[0]
    brightness = np.tensordot([0.114, 0.587, 0.299], image(0), 1)
    assert np.abs(gray[0] - brightness).max() <= 1  # a PNG's reader rounds in its own way
    assert only(tmp_path / "c", encoded(colored[:, :, 0]))[0].shape == (1, 4, 5)
    repeated = only(tmp_path / "d", encoded(colored[:, :, 0]), Color.COLOR)[0]
    assert (repeated == colored[:, :, 0]).all() and repeated.shape == SHAPE


def test_force_color_and_force_gray_say_the_color() -> None:
    assert Color.of(pb.TransformationParameter()) is Color.AS_STORED
    assert Color.of(pb.TransformationParameter(force_color=True)) is Color.COLOR
    assert Color.of(pb.TransformationParameter(force_gray=True)) is Color.GRAY
    with pytest.raises(DataError, match="both"):
        Color.of(pb.TransformationParameter(force_color=True, force_gray=True))


def test_float_data_is_taken_where_there_are_no_bytes(tmp_path: Path) -> None:
    values = [0.5, -1.5, 2.25, 1e9, 0, 7]
    pixels, _ = only(tmp_path / "db", pb.Datum(channels=1, height=2, width=3, float_data=values).SerializeToString())
    assert pixels.dtype == np.float32 and pixels.tolist() == [[values[:3], values[3:]]]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"\xff\xff\xff", "isn't a Datum"),
        (pb.Datum(channels=3, height=4, width=5, data=b"x" * 59).SerializeToString(), "59 values.*needs 60"),
        (pb.Datum(channels=1, height=4, width=5, float_data=[1]).SerializeToString(), "1 values.*needs 20"),
        (pb.Datum(label=3).SerializeToString(), "no image"),
        (pb.Datum(data=b"no image", encoded=True).SerializeToString(), "can't be decoded"),
        (pb.Datum(encoded=True).SerializeToString(), "can't be decoded"),
        (encoded(np.zeros((4, 5), np.uint16)), "uint16"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, value: bytes, why: str) -> None:
    with pytest.raises(DataError, match=f"db: record '00000000_x.png': .*{why}"):
        only(tmp_path / "db", value)


def test_what_isnt_a_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: there is no such folder"):
        LmdbSource(tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file: is a file; an LMDB is a folder"):
        LmdbSource(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=r"folder: isn't an LMDB, because it has no data\.mdb"):
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
