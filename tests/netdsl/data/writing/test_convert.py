"""Converting items of any source to databases and tables, which are read again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.images import FolderSource
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color
from netdsl.data.writing.convert import Conversion, convert
from netdsl.data.writing.databases import lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.data.writing.image_files import ImageFormat
from netdsl.errors import DataError
from tests.small_data import png_of, records_in

PIXELS = np.random.default_rng(0).integers(0, 256, (7, 3, 6, 5), np.uint8)
LABELS = np.array([3, 0, 2, 9, 1, 7, 5])


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(*arrays: np.ndarray) -> ArraySource:
    return ArraySource([arrays])


def read(name: str) -> list[Item]:
    source = open_source(name)
    items = [source.item(source.fetch(index)) for index in range(len(source))]
    source.close()
    return items


def records(path: str) -> list[tuple[bytes, pb.Datum]]:
    return [(key, pb.Datum.FromString(value)) for key, value in records_in(path)]


def check(items: Sequence[Item], images: np.ndarray, labels: np.ndarray) -> None:
    assert all(array.dtype == images.dtype for array, _ in items)
    np.testing.assert_array_equal([image for image, _ in items], images)
    assert [label.item() for _, label in items] == labels.tolist()


TARGETS = ["out_lmdb", "out.lmdb", "lmdb:out", "out_leveldb", "leveldb:out", "out.parquet", "parquet:out"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_written_items_are_read_again(target: str, kind: type) -> None:
    images = PIXELS if kind is np.uint8 else PIXELS / np.float32(7) - 5
    assert convert(made(images, LABELS), target).written == 7
    check(read(target), images, LABELS)
    assert [path.name for path in Path().iterdir()] == [target.partition(":")[2] or target]


@pytest.mark.parametrize("target", ["out_lmdb", "out_leveldb", "out.parquet"])
def test_encoded_images_are_read_again(target: str) -> None:
    convert(made(PIXELS, LABELS), target, Conversion(encoded=ImageFormat.PNG))
    check(read(target), PIXELS, LABELS)


@pytest.mark.parametrize(("shape", "expected"), [((7, 4), (4, 1, 1)), ((7, 4, 6), (1, 4, 6)), ((7,), (1, 1, 1))])
def test_a_datum_has_three_axes(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    convert(made(values, LABELS), "out_lmdb")
    check(read("out_lmdb"), values.reshape(7, *expected), LABELS)


def test_parquet_keeps_any_shapes_and_labels() -> None:
    arrays = (PIXELS[:, 0], LABELS / 4, np.arange(7 * 2).reshape(7, 2))
    convert(made(*arrays), "out.parquet")
    for row, item in enumerate(read("out.parquet")):
        for found, expected in zip(item, arrays, strict=True):
            np.testing.assert_array_equal(found, expected[row].astype(found.dtype))


def test_parquet_images_have_hugging_faces_format() -> None:
    images()
    convert(FolderSource("in"), "out.parquet", Conversion(encoded=ImageFormat.PNG))
    table = pq.read_table("out.parquet").to_pylist()
    assert [row["image"]["path"] for row in table] == ["cat/0.png", "dog/1.png", "dog/2.png"]
    assert table[1]["image"]["bytes"] == Path("in/dog/1.png").read_bytes()
    assert [row["label"] for row in table] == [0, 1, 1]


@pytest.mark.parametrize("target", TARGETS)
def test_class_names_are_copied(target: str) -> None:
    images()
    convert(FolderSource("in"), target)
    with closing(open_source(target)) as source:
        assert classes_of(source) == ("cat", "dog")
    for again in ("again_lmdb", "again.parquet"):
        with closing(open_source(target)) as source:
            convert(source, again)
        with closing(open_source(again)) as source:
            assert classes_of(source) == ("cat", "dog")


def images() -> None:
    for number, name in enumerate(["cat/0.png", "dog/1.png", "dog/2.png"]):
        path = Path("in", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png_of(PIXELS[number]))


def test_records_have_the_fields_and_keys_of_convert_imageset() -> None:
    images()
    convert(FolderSource("in"), "out_lmdb")
    (key, datum), *others = records("out_lmdb")
    assert (key, [other for other, _ in others]) == (
        b"00000000_cat/0.png",
        [b"00000001_dog/1.png", b"00000002_dog/2.png"],
    )
    expected = pb.Datum(channels=3, height=6, width=5, data=PIXELS[0].tobytes(), label=0, encoded=False)
    assert datum == expected
    assert datum.HasField("label") and datum.HasField("encoded")
    convert(made(PIXELS, LABELS), "nameless_lmdb")
    assert records("nameless_lmdb")[6][0] == b"00000006"


def test_names_too_long_for_a_key_are_truncated() -> None:
    images()
    name = "dog/" + "../dog/" * 100 + "2.png"
    Path("list.txt").write_text(f"{name} 4\n")
    convert(open_source("images:list.txt?root=in"), "out_lmdb")
    assert [key for key, _ in records("out_lmdb")] == [f"00000000_{name}".encode()[:511]]


def test_a_lists_keys_contain_its_names_without_the_root() -> None:
    images()
    Path("list.txt").write_text("dog/2.png 4\ncat/0.png 5\n")
    convert(open_source("images:list.txt?root=in"), "out_lmdb")
    assert [(key, datum.label) for key, datum in records("out_lmdb")] == [
        (b"00000000_dog/2.png", 4),
        (b"00000001_cat/0.png", 5),
    ]


def test_a_suitable_image_file_is_stored_unchanged() -> None:
    images()
    settings = Conversion(encoded=ImageFormat.PNG)
    files = [Path("in", name).read_bytes() + b"its own end" for name in ("cat/0.png", "dog/1.png", "dog/2.png")]
    for name, data in zip(("cat/0.png", "dog/1.png", "dog/2.png"), files, strict=True):
        Path("in", name).write_bytes(data)
    convert(FolderSource("in"), "a_lmdb", settings)
    convert(open_source("a_lmdb"), "b.parquet", settings)
    convert(open_source("b.parquet"), "c_lmdb", settings)
    for path in ("a_lmdb", "c_lmdb"):
        assert [datum for _, datum in records(path)] == [
            pb.Datum(data=data, label=label, encoded=True) for data, label in zip(files, (0, 1, 1), strict=True)
        ]


@pytest.mark.parametrize("settings", [Conversion(encoded=ImageFormat.JPG), Conversion((6, 4), ImageFormat.PNG)])
def test_other_image_files_are_encoded_again(settings: Conversion) -> None:
    images()
    assert settings.encoded is not None
    convert(FolderSource("in"), "out_lmdb", settings)
    _, datum = records("out_lmdb")[1]
    start = {ImageFormat.JPG: b"\xff\xd8", ImageFormat.PNG: b"\x89PNG"}[settings.encoded]
    assert datum.data.startswith(start)
    assert datum.data != Path("in/dog/1.png").read_bytes()


def test_images_are_resized_as_in_opencv() -> None:
    convert(made(PIXELS, LABELS), "out_lmdb", Conversion(size=(9, 4)))
    expected = [cv2.resize(image.transpose(1, 2, 0), (4, 9)).transpose(2, 0, 1) for image in PIXELS]
    check(read("out_lmdb"), np.stack(expected), LABELS)


@pytest.mark.parametrize("encoded", [None, ImageFormat.PNG])
def test_images_can_be_converted_to_gray(encoded: ImageFormat | None) -> None:
    images()
    expected = [cv2.imread(f"in/{name}", cv2.IMREAD_GRAYSCALE)[np.newaxis] for name in ("cat/0.png", "dog/1.png")]
    convert(open_source("in", color=Color.GRAY), "a_lmdb", Conversion(gray=True, encoded=encoded))
    np.testing.assert_array_equal([image for image, _ in read("a_lmdb")[:2]], expected)
    # this source has no files to decode
    convert(made(PIXELS, LABELS), "b_lmdb", Conversion(gray=True, encoded=encoded))
    # OpenCV rounds differently when it decodes to gray and when it converts to gray
    np.testing.assert_allclose([image.astype(int) for image, _ in read("b_lmdb")[:2]], expected, atol=1)


def test_the_same_seed_shuffles_the_same_way() -> None:
    orders = []
    for number, seed in enumerate([4, 4, 5]):
        convert(made(PIXELS, LABELS), f"{number}_lmdb", Conversion(seed=seed))
        orders.append([datum.label for _, datum in records(f"{number}_lmdb")])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == sorted(LABELS)
    assert [key for key, _ in records("0_lmdb")] == [b"%08d" % index for index in range(7)]


@pytest.mark.parametrize("target", ["out_lmdb", "out_leveldb", "out.parquet"])
def test_a_failed_conversion_leaves_no_files(target: str) -> None:
    images()
    Path("in/dog/2.png").write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"in/dog/2.png: can't be decoded"):
        convert(FolderSource("in"), target)
    assert [path.name for path in Path().iterdir()] == ["in"]


def test_bad_items_can_be_skipped_and_their_numbers_stay_unused() -> None:
    images()
    Path("in/cat/0.png").write_bytes(b"damaged")
    source = FolderSource("in")
    Path("in/dog/1.png").unlink()
    calls: list[None] = []
    converted = convert(source, "out_lmdb", Conversion(skip_bad=True), done=lambda: calls.append(None))
    assert (converted.written, len(calls)) == (1, 3)
    assert ["in/cat/0.png" in converted.bad[0], "in/dog/1.png" in converted.bad[1]] == [True, True]
    assert [key for key, _ in records("out_lmdb")] == [b"00000002_dog/2.png"]


def test_only_bad_items_are_an_error() -> None:
    images()
    for path in Path("in").rglob("*.png"):
        path.write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"all 3 items are bad; the first problem is: in/cat/0.png"):
        convert(FolderSource("in"), "out_lmdb", Conversion(skip_bad=True))
    assert not Path("out_lmdb").exists()


def test_existing_files_are_unchanged() -> None:
    Path("out_lmdb").mkdir()
    with pytest.raises(DataError, match=r"out_lmdb: the path exists already; remove it"):
        convert(made(PIXELS, LABELS), "out_lmdb")
    assert not list(Path("out_lmdb").iterdir())


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("out", "out: the name doesn't state a format; use lmdb:PATH"),
        ("no/out_lmdb", "no/out_lmdb: there is no folder no"),
    ],
)
def test_invalid_targets_are_refused(target: str, what: str) -> None:
    with pytest.raises(DataError, match=what):
        convert(made(PIXELS, LABELS), target)


@pytest.mark.parametrize(
    ("arrays", "target", "settings", "what"),
    [
        ((PIXELS, LABELS + 0.5), "out_lmdb", Conversion(), "00000000: the label must be one whole number, not"),
        ((PIXELS, PIXELS), "out_lmdb", Conversion(), "the label must be one whole number"),
        ((PIXELS,), "out_lmdb", Conversion(), "a Datum has an image and a label, but an item has 1 arrays"),
        ((PIXELS[:, None], LABELS), "out_lmdb", Conversion(), r"but the item has shape \(1, 3, 6, 5\); write a table"),
        ((PIXELS[:, 0, 0], LABELS), "out_lmdb", Conversion((4, 4)), r"item 0: an item of shape \(5,\) isn't an image"),
        ((PIXELS * 0.5, LABELS), "out_lmdb", Conversion(encoded=ImageFormat.PNG), "item 0: float32 values of shape"),
        ((PIXELS[:, :2], LABELS), "out_lmdb", Conversion(encoded=ImageFormat.JPG), "item 0: uint8 values of shape"),
    ],
)
def test_items_that_do_not_fit_are_refused(arrays: Any, target: str, settings: Conversion, what: str) -> None:
    with pytest.raises(DataError, match=what):
        convert(made(*arrays), target, settings)


def test_a_table_needs_one_shape() -> None:
    source = ArraySource([(PIXELS, LABELS), (PIXELS[:, :, 1:], LABELS)])
    with pytest.raises(
        DataError,
        match="item 7: its arrays have other shapes or types than those of the first item",
    ):
        convert(source, "out.parquet")
    convert(source, "encoded.parquet", Conversion(encoded=ImageFormat.PNG))
    assert [image.shape for image, _ in read("encoded.parquet")[6:8]] == [(3, 6, 5), (3, 5, 5)]


def test_a_map_grows_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netdsl.data.writing.databases._RECORDS", 30)
    many = np.random.default_rng(1).integers(0, 256, (100, 1, 50, 61), np.uint8)
    with lmdb_writer(Path("out"), map_size=1 << 15) as put:
        for index, image in enumerate(many):
            put(Example(index, "", (image, np.float32(index))))
    check(read("out"), many, np.arange(100))


def test_a_table_is_written_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netdsl.data.writing.parquet._BYTES", 3 * PIXELS[0].nbytes - 1)
    convert(made(PIXELS, LABELS), "out.parquet")
    head = pq.read_metadata("out.parquet")
    assert [head.row_group(index).num_rows for index in range(head.num_row_groups)] == [3, 3, 1]
    check(read("out.parquet"), PIXELS, LABELS)


def test_a_changed_value_in_parquet_is_detected() -> None:
    convert(made(np.random.default_rng(2).integers(0, 256, (3, 1, 8, 8), np.uint8), np.arange(3)), "out.parquet")
    column = pq.read_metadata("out.parquet").row_group(0).column(0)
    last_value = column.data_page_offset + column.total_compressed_size - 4
    with Path("out.parquet").open("r+b") as file:
        file.seek(last_value)
        value = file.read(1)[0]
        file.seek(last_value)
        file.write(bytes([value ^ 1]))
    source = open_source("parquet:out.parquet")
    with pytest.raises(DataError, match=r"out\.parquet: can't be read: .*(crc|CRC)"):
        source.fetch(0)


def test_proportional_sides_require_annotated_images() -> None:
    with pytest.raises(DataError, match="--min-dim and --max-dim need images with marked objects; give --resize"):
        convert(made(PIXELS, LABELS), "out_lmdb", Conversion(min_side=9))
