"""`zoo test` on data other than the net's own."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from converters.onnx.files import load_onnx
from tests.zoo.cli.conftest import needs_onnx


def scored(zoo, digits, *words: str) -> dict[str, float]:
    done = zoo("test", digits.net, "--weights", digits.weights, "--json", *words)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["loss"] == pytest.approx(found["outputs"]["loss"])
    return found["outputs"]


def test_all_rows_of_a_table_count_once_even_with_a_partial_last_batch(zoo, digits) -> None:
    found = scored(zoo, digits, "--data", digits.table)
    for name, wanted in zip(("accuracy", "loss"), digits.outputs("accuracy", "loss"), strict=True):
        assert found[name] == pytest.approx(float(wanted), rel=1e-5)


def test_full_batches_give_the_result_of_as_many_iterations(zoo, digits) -> None:
    pq.write_table(pq.read_table(digits.table).slice(0, 180), "full.parquet")
    rows = scored(zoo, digits, "--data", "full.parquet")
    assert rows == pytest.approx(scored(zoo, digits, "--data", "full.parquet", "--iterations", "5"), rel=1e-6)
    assert rows != pytest.approx(scored(zoo, digits, "--data", digits.table, "--iterations", "9"), rel=1e-3)


def test_the_net_reads_other_data_and_columns(zoo, digits) -> None:
    wanted = scored(zoo, digits, "--data", digits.table)
    table = pq.read_table(digits.table)
    pq.write_table(table.rename_columns(["number", "pixels", "digit"]), "named.parquet")
    named = ["--data", "named.parquet", "--column", "data=pixels", "--column", "label=digit"]
    assert scored(zoo, digits, *named) == wanted
    done = zoo("test", digits.net, "--weights", digits.weights, *named[:-2])
    assert "no column 'label' for blob 'label'; choose from number, pixels, digit" in done.err
    once = scored(zoo, digits, "--data", "digits:test", "--iterations", "355")  # each row 36 times
    assert once["accuracy"] == pytest.approx(wanted["accuracy"], rel=1e-5)


def test_outputs_by_row_have_no_mean_over_batches_of_different_sizes(zoo, digits) -> None:
    assert "prob" not in zoo("test", digits.net, "--weights", digits.weights, "--data", digits.table).out


@pytest.mark.parametrize(("weight", "names"), [("1", []), ("0.5", ["total loss"])])
def test_the_loss_is_printed_once_and_distinguished_from_an_output_named_loss(
    zoo, digits, weight: str, names: list
) -> None:
    net = Path(digits.net).read_text().replace('"SoftmaxWithLoss"', f'"SoftmaxWithLoss" loss_weight: {weight}')
    Path("weighted.prototxt").write_text(net)
    done = zoo("test", "weighted.prototxt", "--weights", digits.weights, "--data", digits.table)
    lines = done.out.splitlines()[2 : 4 + len(names)]  # after the lines about the weights and the data
    values = dict(line.rsplit(" ", 1) for line in lines)
    assert [line.rsplit(" ", 1)[0] for line in lines] == [*names, "accuracy", "loss"]
    assert float(values.get("total loss", values["loss"])) == pytest.approx(
        float(weight) * float(values["loss"]), rel=1e-4
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--backend", "spark"], "name the table with --data, and remove --iterations"),
        (["--backend", "spark", "--data", "digits"], "Spark reads only Parquet tables"),
        (["--column", "data=x"], "--column needs a table; name one in --data"),
        (["--workers", "3"], "--master, --remote and --workers need --backend spark"),
    ],
)
def test_options_that_require_others_are_checked(words, says, zoo, digits) -> None:
    done = zoo("test", digits.net, "--weights", digits.weights, *words)
    assert done.code == 2
    assert says in " ".join(done.err.split())


def test_an_accuracy_counts_each_item_once_and_has_its_interval_and_a_baseline(zoo, digits) -> None:
    words = ("test", digits.net, "--weights", digits.weights, "--data")
    rows, repeated = (zoo(*words, *more, "--json") for more in ([digits.table], ["digits:test", "--iterations", "30"]))
    measured = json.loads(rows.out)["measured"]
    assert measured == json.loads(repeated.out)["measured"]  # of 1,080 rows, 725 are repetitions
    assert (measured["items"], measured["baselines"][0]["name"]) == (355, "the most frequent class, '1', for all items")
    assert measured["accuracy"] == pytest.approx(float(digits.outputs("accuracy")[0]), rel=1e-5)
    assert measured["lowest"] < measured["accuracy"] < measured["highest"]
    out = zoo(*words, "digits:test", "--iterations", "1").out
    assert "of 36 items: between" in out and "so test on more, with --iterations" in out


@needs_onnx
def test_an_exported_model_computes_the_deployed_part(zoo, digits) -> None:
    words = ["export", digits.net, "--weights", digits.weights, "--to", "onnx", "-o", "net.onnx"]
    assert zoo(*words).code == 0
    own, with_model = (
        scored(zoo, digits, "--data", digits.table, "--iterations", "9", *more) for more in ([], ["--with", "net.onnx"])
    )
    assert with_model == pytest.approx(own, rel=1e-5, abs=1e-6)
    done = zoo("test", digits.net, "--with", "net.onnx", "--data", digits.table)  # the model has the weights
    assert done.code == 0 and "weights" not in done.out and f"accuracy {own['accuracy']:.4g}"[:8] in done.out
    message = load_onnx("net.onnx")
    for tensor in message.graph.initializer:
        if tensor.name == "scores/weight":
            tensor.raw_data = bytes(len(tensor.raw_data))
    Path("net.onnx").write_bytes(message.SerializeToString())
    assert scored(zoo, digits, "--data", digits.table, "--with", "net.onnx")["loss"] == pytest.approx(
        2.302585, rel=1e-6
    )


@needs_onnx
def test_a_model_of_another_net_cannot_take_the_place(zoo, digits, lenet) -> None:
    net = ("--weights", digits.weights, "--to", "onnx")
    assert zoo("export", digits.net, *net, "-o", "other.onnx", "--prune-to", "hidden").code == 0
    words = ["test", digits.net, "--data", digits.table, "--with"]
    done = zoo(*words, "other.onnx")
    assert done.code == 2 and "other.onnx: the model doesn't have the net's output 'prob', but hidden;" in done.err
    assert "gone.onnx: " in zoo(*words, "gone.onnx").err
    assert "remove --backend spark, or remove --with" in zoo(*words, "other.onnx", "--backend", "spark").err
    assert "remove --with" in zoo("test", digits.net, "--data", "objects:test?count=2", "--with", "other.onnx").err
