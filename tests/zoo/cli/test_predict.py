"""`zoo predict` and `zoo features` in this process, on tables to which they add columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl import Net


def values(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist())


def test_predictions_are_added_to_the_existing_columns(zoo, digits) -> None:
    done = zoo("predict", digits.net, "--weights", digits.weights, digits.table, "-o", "out.parquet")
    told = f"weights {digits.weights}: 2 of 2 layers filled\nwrote out.parquet\n"
    assert (done.code, done.out, done.err) == (0, told, "")
    table, before = pq.read_table("out.parquet"), pq.read_table(digits.table)
    assert table.select(before.column_names).equals(before)
    assert table.column_names == [*before.column_names, "probability", "prediction"]
    (wanted,) = digits.outputs("prob")
    assert np.allclose(values(table, "probability"), wanted, rtol=1e-4)  # batches of other sizes sum in another order
    assert np.array_equal(values(table, "prediction"), wanted.argmax(1))


def test_a_row_that_is_not_finite_has_no_class(zoo, digits) -> None:
    rows = pq.read_table(digits.table)
    data = [list(map(float, np.ravel(row))) for row in rows["data"].to_pylist()]
    data[5][7] = float("nan")
    pq.write_table(pa.table({"data": data, "number": list(range(len(data)))}), "rows.parquet")
    words = ["predict", digits.net, "--weights", digits.weights, "rows.parquet", "-o", "out.parquet"]
    done = zoo(*words)
    assert done.code == 2 and "column 'data': row 5 of rows.parquet has a value that isn't finite" in done.err
    assert not Path("out.parquet").exists()
    assert zoo(*words, "--invalid", "skip").code == 0
    assert pq.read_table("out.parquet")["number"].to_pylist() == [each for each in range(len(data)) if each != 5]
    assert zoo(*words, "--invalid", "keep").code == 0
    assert np.flatnonzero(np.isnan(values(pq.read_table("out.parquet"), "prediction"))).tolist() == [5]


def test_any_blob_can_become_a_column_and_labels_are_not_needed(zoo, digits) -> None:
    rows = pq.read_table(digits.table).select(["data", "number"]).rename_columns(["pixels", "number"])
    with pa.ipc.new_file("rows.arrow", rows.schema) as file:
        file.write_table(rows, max_chunksize=100)
    files = ["--weights", digits.weights, "rows.arrow", "-o", "out.parquet", "--column", "data=pixels"]
    assert zoo("features", digits.net, *files, "--blob", "hidden", "--blob", "scores", "--batch", "7").code == 0
    table = pq.read_table("out.parquet")
    assert table.column_names == ["pixels", "number", "hidden", "scores"]
    made = values(table, "pixels") / 16
    for name, (weight, bias) in Net(digits.net, weights=digits.weights).get_weights().items():
        made = made @ weight.T + bias
        assert np.allclose(values(table, name), made, rtol=1e-3, atol=1e-4)  # sums of up to 64 float32 values


def test_a_caffemodel_contains_its_net_and_a_table_its_shapes(zoo, lenet: Path) -> None:
    zoo("train", "lenet", "--max-iter", "30")
    zoo("data", "convert", "digits:test", "digits.parquet")
    assert zoo("predict", "lenet_iter_30.caffemodel", "digits.parquet", "-o", "out.parquet").code == 0
    table = pq.read_table("out.parquet")
    right = (values(table, "prediction") == values(table, "label")).mean()
    net = str(lenet / "train_val.prototxt")
    tested = zoo("test", net, "--weights", "lenet_iter_30.caffemodel", "--data", "digits.parquet").out
    assert right > 0.3
    assert f"accuracy {right:.6g}\n" in tested
    assert "missing" in zoo("test", net, "--weights", "lenet_iter_30.caffemodel", "--data", "lmdb:missing").err


def test_a_table_without_rows_gets_its_columns(zoo, digits) -> None:
    pq.write_table(pq.read_table(digits.table).slice(0, 0), "none.parquet")
    done = zoo("predict", digits.net, "--weights", digits.weights, "none.parquet", "-o", "out.parquet")
    assert (done.code, done.err) == (0, "")
    schema = pq.read_schema("out.parquet")
    assert str(schema.field("probability").type).startswith("list<")
    assert str(schema.field("prediction").type) == "double"


def test_a_failed_prediction_leaves_no_files(zoo, digits, full_disk) -> None:
    table = pq.read_table(digits.table)
    broken = pa.concat_tables([table, table.slice(0, 1).set_column(1, "data", [pa.nulls(1, table["data"].type)])])
    pq.write_table(broken, "broken.parquet")
    files = ["predict", digits.net, "--weights", digits.weights, "-o", "out.parquet"]
    done = zoo(*files, "broken.parquet")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "column 'data': row 355 of broken.parquet is null" in done.err
    with full_disk(5000):
        done = zoo(*files, digits.table)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "File too large" in done.err
    assert [path.name for path in Path().iterdir()] == ["broken.parquet"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["digits:test"], "digits:test: not a Parquet or Arrow table; convert it with `zoo data convert digits:test"),
        (["parquet:ROWS?columns=data"], "choose columns with --column BLOB=COLUMN"),
        (["parquet:missing"], "missing: can't be opened"),
        (["ROWS", "--column", "data=pixels"], "no column 'pixels' for blob 'data'; choose from number, data"),
        (["ROWS", "--column", "data"], "'data' isn't a blob and its column"),
        (["ROWS", "--workers", "2"], "need --backend spark"),
        (["ROWS", "--master", "yarn"], "need --backend spark"),
        (["ROWS", "-o", "missing/out"], "missing/out: can't be written"),
        (["digits", "--backend", "spark"], "not a Parquet or Arrow table"),
        (["arrow:rows", "--backend", "spark"], "Spark reads only Parquet tables"),
    ],
)
def test_invalid_requests_are_reported_in_one_line(words, says, zoo, digits) -> None:
    words = [word.replace("ROWS", digits.table) for word in words]
    done = zoo("predict", digits.net, "--weights", digits.weights, "-o", "out.parquet", *words)
    assert done.code == 2
    assert says in " ".join(done.err.replace("\n", " ").split())
    assert not list(Path().iterdir())


def test_weights_are_required_and_columns_must_be_new(zoo, digits) -> None:
    done = zoo("predict", digits.net, digits.table, "-o", "out.parquet")
    assert "net 'digits' has no weights here; name their files" in done.err
    files = [digits.net, "--weights", digits.weights, digits.table, "-o", "out.parquet", "--blob"]
    assert "there would be two columns 'data'" in zoo("features", *files, "data").err
    assert "doesn't have the blob 'scored'" in zoo("features", *files, "scored").err


def test_all_files_of_a_table_have_the_same_columns(zoo, digits, tmp_path) -> None:
    (tmp_path / "rows").mkdir()
    table = pq.read_table(digits.table)
    pq.write_table(table, "rows/a.parquet")
    pq.write_table(table.drop_columns("number"), "rows/b.parquet")
    done = zoo("predict", digits.net, "--weights", digits.weights, "rows", "-o", "out.parquet")
    assert "rows/b.parquet: its columns differ from those of rows/a.parquet" in done.err
