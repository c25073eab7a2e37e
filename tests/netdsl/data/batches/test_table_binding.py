"""Tables that blobs are read from: columns by name or in order, shapes, and the rule for rows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import BadItems, Intake, Loading
from netdsl.data.batches.table_binding import reading_of
from netdsl.data.tables.table import Table
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError
from tests.small_data import png_of

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 2, 3, 4), np.uint8)
DATA = Intake(("data",), 3, ((2, 3, 4),))
LABEL = Intake(("label",), 3, ((1,),))


def tensors(values: np.ndarray) -> pa.Array:
    return pa.FixedShapeTensorArray.from_numpy_ndarray(values)


def write(path: Path, **columns: object) -> str:
    rows = pa.record_batch(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows)
    return f"arrow:{path}"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Return a source of images as flat vectors, their numbers, and a vector."""
    return write(
        tmp_path / "t.arrow", image=tensors(IMAGES.reshape(5, 24)), label=pa.array(range(5)), extra=tensors(IMAGES)
    )


def batches(table: Table, *intakes: Intake, **loading: object) -> Batches:
    return Batches(reading_of(table, intakes), Loading(workers=1, **loading))


def rows(table: Table, count: int, **loading: object) -> list[int]:
    """Return the labels of this many batches."""
    with batches(table, LABEL, **loading) as found:
        return [int(label) for _ in range(count) for label in next(found)[0].flatten()]


def refuse(table: Table, what: str, *intakes: Intake) -> None:
    with pytest.raises(DataError, match=what), batches(table, *intakes) as found:
        next(found)


def test_blobs_are_read_from_columns_in_the_layers_shapes(source: str) -> None:
    table = Table(source, {"data": "image"})
    for bad in BadItems:
        with batches(table, DATA, LABEL, bad=bad) as found:
            data, label = next(found)
            assert (data.shape, label.shape) == ((3, 2, 3, 4), (3, 1))
            np.testing.assert_array_equal(data, IMAGES[:3])
            assert label.flatten().tolist() == [0, 1, 2]


def test_columns_without_a_layers_shape_are_unchanged(source: str) -> None:
    with batches(Table(source), Intake(("extra", "label", "image"), 4, (None, None, None))) as found:
        assert found.shapes() == [(4, 2, 3, 4), (4,), (4, 24)]


def test_arrays_without_names_are_used_in_order(source: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label,b\n1,7,2\n")
    listed, lines = Table(f"{source}?columns=extra,label"), Table(f"csv:{tmp_path / 't.csv'}")
    for table, shape in ((listed, (2, 3, 4)), (lines, (2, 1, 1))):
        with batches(table, Intake(("x", "y"), 3, (shape, ()))) as found:
            assert found.shapes() == [(3, *shape), (3,)]
        with batches(table, Intake(("x",), 3, (shape,))) as found:
            assert found.shapes() == [(3, *shape)]
        refuse(Table(table.source, {"x": "image"}), "arrays fill the blobs x in this order; leave out --column", DATA_X)
    refuse(lines, "t.csv: an item has 2 arrays, too few for a, b, c", Intake(("a", "b", "c"), 1, (None,) * 3))


DATA_X = Intake(("x",), 3, (None,))


def test_a_transform_is_applied_before_the_shape_is_checked(source: str) -> None:
    crop = Transform(pb.TransformationParameter(crop_size=2, scale=0.5), train=False)
    with batches(Table(source), Intake(("extra",), 3, ((2, 2, 2),), crop), LABEL) as found:
        np.testing.assert_array_equal(next(found)[0], IMAGES[:3, :, :2, 1:3] * np.float32(0.5))
    scale = Transform(pb.TransformationParameter(scale=0.5), train=False)
    with batches(Table(source), LABEL, Intake(("image",), 3, ((2, 3, 4),), scale)) as found:
        np.testing.assert_array_equal(next(found)[1], IMAGES[:3] * np.float32(0.5))
    wrong = Intake(("extra",), 3, ((2, 3, 4),), crop)
    refuse(Table(source), r"item 0: a value of shape \[2, 3, 4\], \[2, 2, 2\] after its transform, doesn't fit", wrong)


def test_encoded_images_can_be_read_in_gray(tmp_path: Path) -> None:
    image = png_of(IMAGES[0].repeat(2, axis=0)[:3])
    source = write(tmp_path / "t.arrow", data=pa.array([image]), label=pa.array([7]))
    with batches(Table(source), Intake(("data",), 3, ((1, 3, 4),), gray=True), LABEL) as found:
        assert next(found)[1].flatten().tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("own", "wanted"),
    [((6,), (1, 2, 3)), ((1, 6), (2, 3)), ((2, 3), (6,)), ((2, 3), (2, 1, 3)), ((), (1,)), ((1,), ())],
)
def test_values_fit_if_their_order_stays(tmp_path: Path, own: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).random((3, *own), np.float32)
    source = write(tmp_path / "t.arrow", x=tensors(values) if own else pa.array(values))
    with batches(Table(source), Intake(("x",), 3, (wanted,))) as found:
        np.testing.assert_array_equal(next(found)[0], values.reshape(3, *wanted))


@pytest.mark.parametrize("shape", [(3, 4, 2), (2, 3, 5), (1,), (4, 6)])
def test_values_that_do_not_fit_are_refused(source: str, shape: tuple[int, ...]) -> None:
    why = f"t.arrow: item 0: a value of shape [2, 3, 4] doesn't fit 'extra', which needs {list(shape)}"
    refuse(Table(source), re.escape(why), Intake(("extra",), 3, (shape,)))


def test_columns_that_cannot_be_bound_are_refused(source: str, tmp_path: Path) -> None:
    refuse(Table(source), "there isn't exactly one column 'data'; choose from image, label, extra", DATA)
    refuse(
        Table(source, {"lable": "label"}), "no blob 'lable' comes from outside; choose from data, label", DATA, LABEL
    )
    refuse(Table(source), "'data' has batches of 3, and 'label' of 4", DATA, Intake(("label",), 4, (None,)))
    refuse(Table(source), "none of the net's blobs come from outside")
    refuse(
        Table(write(tmp_path / "none.arrow", data=pa.array([], pa.int8()))), r"none\.arrow: there are no items", DATA
    )


def test_batches_wrap_around_at_the_end_of_a_table(source: str) -> None:
    assert rows(Table(source), 4) == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize("shuffle", [False, True])
def test_workers_share_one_sequence_of_rows(source: str, shuffle: bool) -> None:
    table = Table(source, shuffle=shuffle)
    whole = rows(table, 8, seed=4)
    parts = [rows(table, 4, seed=4, rank=rank, size=2) for rank in range(2)]
    assert [row for pair in zip(*parts, strict=True) for row in pair] == whole
    assert sorted(whole[:5]) == sorted(whole[5:10]) == list(range(5))
    assert (whole[:5] != whole[5:10]) == shuffle


def test_a_table_may_have_fewer_rows_than_a_batch_or_than_workers(tmp_path: Path) -> None:
    table = Table(write(tmp_path / "t.arrow", label=pa.array([6, 7])), shuffle=True)
    found = [rows(table, 2, rank=rank, size=4) for rank in range(4)]
    assert sorted(row for each in found for row in each) == [6] * 12 + [7] * 12


def test_a_skipped_row_is_skipped_for_all_blobs(tmp_path: Path) -> None:
    source = write(tmp_path / "t.arrow", a=pa.array([0, None, 2, 3]), b=pa.array([0, 10, 20, None]))
    with batches(Table(source), Intake(("a",), 4, ((),)), Intake(("b",), 4, ((),)), bad=BadItems.SKIP) as found:
        a, b = next(found)
        assert (a.tolist(), b.tolist()) == ([0, 2, 2, 0], [0, 20, 20, 0])
        assert found.skipped == 2
    refuse(Table(source), r"column 'a': row 1 of .*t.arrow is null", Intake(("a",), 4, ((),)))
