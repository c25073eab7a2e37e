"""`zoo predict`, `zoo features` and `zoo test` with tasks of their own Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl import Net
from netdsl.data.tables.arrow import with_class_names

pytestmark = pytest.mark.spark

ZOO = Path(sys.executable).with_name("zoo")
NET = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits" batch_size: 50 }
  transform_param { force_gray: true scale: 0.0625 crop_size: 8
    resize_param { resize_mode: WARP height: 11 width: 10 } } }
layer { name: "scores" type: "InnerProduct" bottom: "data" top: "scores"
  inner_product_param { num_output: 10 weight_filler { type: "gaussian" std: 0.2 } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "label" top: "loss" }
"""


def on_spark(folder: Path, command: str, digits, *words: str) -> subprocess.CompletedProcess[str]:
    given = [ZOO, command, digits.net, "--weights", digits.weights, "--backend", "spark", "--workers", "2", *words]
    return subprocess.run(given, cwd=folder, capture_output=True, text=True)


def test_predictions_and_features_equal_those_of_this_machine(zoo, digits, tmp_path) -> None:
    files = [digits.table, "-o"]
    assert on_spark(tmp_path, "predict", digits, *files, "spark").stdout.splitlines()[-1] == "wrote spark"
    assert zoo("predict", digits.net, "--weights", digits.weights, *files, "here.parquet").code == 0
    found, wanted = pq.read_table("spark").sort_by("number"), pq.read_table("here.parquet")
    assert found.column_names == wanted.column_names
    assert found["prediction"].equals(wanted["prediction"])
    one, other = (np.array(table["probability"].to_pylist()) for table in (found, wanted))
    assert np.allclose(one, other, rtol=1e-4)
    again = on_spark(tmp_path, "features", digits, *files, "spark", "--blob", "scores")
    assert (again.returncode, again.stderr.splitlines()[-1][:30]) == (2, "zoo: spark: the folder already")


def test_tensors_keep_their_shape(zoo, tmp_path) -> None:
    (tmp_path / "a folder").mkdir()
    table = "a folder/digits.parquet"
    assert zoo("data", "convert", "digits:test", table).code == 0
    Path("net.prototxt").write_text(NET)
    Net("net.prototxt").save("net.caffemodel")
    words = [ZOO, "predict", "net.caffemodel", table, "-o"]
    subprocess.run([*words, "spark", "--backend", "spark", "--workers", "2"], check=True)
    subprocess.run([*words, "here.parquet"], check=True)
    found, wanted = pq.read_table("spark"), pq.read_table("here.parquet")
    assert np.array_equal(found["data"].to_pylist(), wanted["data"].combine_chunks().to_numpy_ndarray())
    one, other = (np.array(table["probability"].to_pylist()) for table in (found, wanted))
    assert np.allclose(one, other, rtol=1e-4)


def test_tasks_together_return_the_result_of_one_process(zoo, digits, tmp_path) -> None:
    table = pq.read_table(digits.table)
    (tmp_path / "full").mkdir()
    for name, start in {"a": 0, "b": 180}.items():
        pq.write_table(table.slice(start, 144), tmp_path / f"full/{name}.parquet")  # batches have 36 rows
    for data in ("full", digits.table):
        found = on_spark(tmp_path, "test", digits, "--data", data, "--json")
        here = zoo("test", digits.net, "--weights", digits.weights, "--data", data, "--json")
        one, other = (json.loads(text)["outputs"] for text in (found.stdout, here.out))
        one.pop("prob", None), other.pop("prob", None)
        assert one == pytest.approx(other, rel=1e-6)  # means over the same rows


def test_class_names_come_from_the_model_or_the_table(zoo, tmp_path) -> None:
    Path("net.prototxt").write_text(NET)
    Net("net.prototxt").save("net.caffemodel")
    assert zoo("data", "convert", "digits:test", "digits.parquet").code == 0
    words = [ZOO, "predict", "net.caffemodel", "digits.parquet", "--backend", "spark", "-o"]
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    Path("net_labels.txt").write_text("\n".join(names))
    subprocess.run([*words, "spark"], check=True)
    rows = pq.read_table("spark", columns=["prediction", "predicted_class"]).to_pylist()
    assert [row["predicted_class"] for row in rows] == [names[int(row["prediction"])] for row in rows]

    table = pq.read_table("digits.parquet")
    named = table.cast(with_class_names(table.schema, "label", ["one", "zero", *names[2:]]))
    pq.write_table(named, "named.parquet")
    words = [ZOO, "test", "net.prototxt", "--weights", "net.caffemodel", "--data", "parquet:named.parquet"]
    done = subprocess.run([*words, "--backend", "spark"], capture_output=True, text=True, check=True)
    assert f"tests on parquet:named.parquet: {len(table)} items, 10 classes (one, zero, " in done.stdout
    assert "label 0 is 'one', but the net was trained with 'zero'" in done.stderr


def test_an_invalid_row_is_reported_and_leaves_no_files(digits, tmp_path) -> None:
    table = pq.read_table(digits.table)
    broken = pa.concat_tables([table, table.slice(0, 1).set_column(1, "data", [pa.nulls(1, table["data"].type)])])
    pq.write_table(broken, tmp_path / "broken.parquet")
    done = on_spark(tmp_path, "features", digits, "broken.parquet", "--blob", "scores", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("zoo: column 'data': row 355 of partition 0 is null")
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.parquet"]


def test_an_unknown_place_for_spark_is_reported(digits, tmp_path) -> None:
    done = on_spark(tmp_path, "predict", digits, digits.table, "-o", "nowhere://rows")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        'zoo: nowhere://rows: can\'t be written: No FileSystem for scheme "nowhere"'
    )
    assert "Traceback" not in done.stderr
