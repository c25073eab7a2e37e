"""Tar files in WebDataset's form that `convert` writes, read again."""

from __future__ import annotations

import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color
from netdsl.data.writing.convert import Conversion, convert
from netdsl.data.writing.image_files import ImageFormat
from netdsl.errors import DataError
from tests.small_data import png_of

PIXELS = np.random.default_rng(0).integers(0, 256, (7, 3, 6, 5), np.uint8)
LABELS = np.array([3, 0, 2, 9, 1, 7, 5])


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(name: str, color: Color = Color.AS_STORED) -> list[Item]:
    with closing(open_source(name, color=color)) as source:
        return [source.item(source.fetch(index)) for index in range(len(source))]


def members(path: str) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "color"), [("shapes:test", Color.AS_STORED), ("digits:test", Color.GRAY)])
def test_written_items_are_read_again(name: str, color: Color) -> None:
    with closing(open_source(name)) as source:
        assert convert(source, "shards:out?samples=150").written == len(source)
        names = classes_of(source)
    for found, expected in zip(read("out", color), read(name), strict=True):
        assert [array.dtype for array in found] == [array.dtype for array in expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    with closing(open_source("out")) as source:
        assert classes_of(source) == names


def test_a_tar_has_at_most_the_samples_that_the_target_sets() -> None:
    source = ArraySource([(PIXELS, LABELS)])
    convert(source, "shards:out?samples=3")
    files = sorted(path.name for path in Path("out").iterdir())
    assert files == ["out-000000.tar", "out-000001.tar", "out-000002.tar"]
    assert list(members("out/out-000001.tar")) == [f"0000000{n}.{e}" for n in (3, 4, 5) for e in ("png", "cls")]
    assert members("out/out-000002.tar")["00000006.cls"] == b"5"
    convert(source, "shards:again?samples=3")
    assert Path("again/again-000001.tar").read_bytes() == Path("out/out-000001.tar").read_bytes()
    convert(source, "shards:whole")
    assert [path.name for path in Path("whole").iterdir()] == ["whole-000000.tar"]


def test_image_files_keep_their_bytes() -> None:
    Path("in/cat").mkdir(parents=True)
    pixels = PIXELS[0].transpose(1, 2, 0)
    files = {
        kind: bytes(cv2.imencode(f".{kind}", pixels)[1]) for kind in ("bmp", "jpg", "png", "ppm", "tiff", "webp")
    } | {"pgm": bytes(cv2.imencode(".pgm", pixels[..., 0])[1])}
    for kind, data in files.items():
        Path(f"in/cat/{kind}.{kind}").write_bytes(data)
    kinds = [path.name.rpartition(".")[2] for path in sorted(Path("in/cat").iterdir())]
    convert(open_source("folder:in"), "shards:a")
    convert(open_source("a"), "shards:b")
    convert(open_source("b"), "parquet:c", Conversion(encoded=ImageFormat.PNG))
    convert(open_source("folder:in"), "d_lmdb", Conversion(encoded=ImageFormat.JPG))
    convert(open_source("d_lmdb"), "shards:d")
    for path in ("a/a-000000.tar", "b/b-000000.tar"):
        found = {name: data for name, data in members(path).items() if not name.endswith("cls")}
        endings = ["tif" if kind == "tiff" else kind for kind in kinds]
        assert list(found) == [f"{number:08}.{ending}" for number, ending in enumerate(endings)]
        assert list(found.values()) == [files[kind] for kind in kinds]
    assert [name[-4:] for name in members("d/d-000000.tar") if not name.endswith("cls")] == [".jpg"] * len(kinds)
    for found, expected in zip(read("parquet:c"), read("in"), strict=True):
        np.testing.assert_array_equal(found[0], expected[0])


def test_images_of_other_formats_and_changed_images_become_png() -> None:
    Path("in/cat").mkdir(parents=True)
    Path("in/cat/a.png").write_bytes(bytes(cv2.imencode(".jp2", np.zeros((64, 64, 3), np.uint8))[1]))
    convert(open_source("folder:in"), "shards:a")
    Path("in/cat/a.png").write_bytes(png_of(PIXELS[0]))
    convert(open_source("folder:in"), "shards:b", Conversion(size=(8, 9)))
    convert(open_source("folder:in"), "shards:c", Conversion(encoded=ImageFormat.JPG))
    for path, start in (("a", b"\x89PNG"), ("b", b"\x89PNG"), ("c", b"\xff\xd8")):
        image, _ = members(f"{path}/{path}-000000.tar").values()
        assert image.startswith(start)
    assert read("b")[0][0].shape == (3, 8, 9)


def test_arrays_in_shards_are_converted() -> None:
    convert(ArraySource([(PIXELS, LABELS)]), "shards:a")
    with tarfile.open("a/a-000000.tar", "w") as tar:
        np.save("x.npy", PIXELS[0])
        Path("x.cls").write_text("3")
        tar.add("x.npy")
        tar.add("x.cls")
    convert(open_source("a"), "shards:b")
    np.testing.assert_array_equal(read("b")[0][0], PIXELS[0])


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ((PIXELS, LABELS, LABELS), "item 0: a shard stores images and their classes, but an item has 3 arrays"),
        ((PIXELS, LABELS + 0.5), "item 0: the label must be one whole number"),
        ((PIXELS * 0.5, LABELS), "item 0: float64 values|item 0: float32 values"),
    ],
)
def test_items_that_do_not_fit_are_refused(arrays: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        convert(ArraySource([arrays]), "shards:out")
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("shards:out?samples=0", r"out\?samples=0: samples is '0'; set it to a whole number of 1 or more"),
        ("shards:out?count=3", r"there is no option 'count'; write the target as shards:FOLDER\?samples=N"),
        ("lmdb:out?samples=3", "there is no option 'samples'; write the target as lmdb:PATH"),
    ],
)
def test_wrong_options_of_targets_are_refused(target: str, what: str) -> None:
    with pytest.raises(DataError, match=what):
        convert(ArraySource([(PIXELS, LABELS)]), target)
