"""Prediction with nets on a real Spark."""

from __future__ import annotations

import datetime
import json
import os
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer, Softmax, SoftmaxWithLoss
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.errors import DataError

pytestmark = pytest.mark.spark

PARAMS = NetParams(
    "small",
    RDDLayer("data", shape=[4, 1, 3, 5]),
    RDDLayer("label", shape=[4, 1]),
    ConvLayer("conv", ["data"], kernel=(2, 2), num_filters=6, weight_filler={"type": "gaussian", "std": 1}),
    LinearLayer("scores", ["conv"], num_outputs=7, weight_filler={"type": "gaussian", "std": 1}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
BINDINGS = {"data": "pixels"}
PIXELS = np.random.default_rng(2).standard_normal((11, 1, 3, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a caffemodel."""
    path = tmp_path_factory.mktemp("weights") / "small.caffemodel"
    Net(PARAMS).save(path)
    return path


@pytest.fixture
def model(session: Any, weights: Path) -> Any:
    from netdsl.spark import NetModel

    return NetModel(PARAMS, weights, bindings=BINDINGS)


def expected(weights: Path, pixels: np.ndarray = PIXELS) -> np.ndarray:
    """Return the probabilities from the net without Spark."""
    *layers, _ = PARAMS.message.layer
    deploy = NetParams(*(layer for layer in layers if layer.name != "label"), Softmax("prob", ["scores"]))
    return Net(deploy, weights=weights).forward(data=pixels)["prob"].numpy()


def frame(session: Any, partitions: int = 2) -> Any:
    rows = [(number, pixels.ravel().tolist()) for number, pixels in enumerate(PIXELS)]
    return session.createDataFrame(rows, "number int, pixels array<double>").repartition(partitions)


def column(table: Any, name: str) -> np.ndarray:
    """Return the values of a column, in the order of the rows' numbers."""
    rows = sorted(table.select("number", name).collect())
    return np.array([row[name].toArray() if hasattr(row[name], "toArray") else row[name] for row in rows])


def test_probabilities_equal_those_of_the_net(session: Any, model: Any, weights: Path) -> None:
    wanted = expected(weights)
    for partitions in (1, 20):  # with more partitions than rows, some are empty
        table = model.transform(frame(session, partitions)).cache()
        assert table.dtypes[2:] == [("probability", "array<float>"), ("prediction", "double")]
        # batches of other sizes sum in another order
        assert np.allclose(column(table, "probability"), wanted, rtol=1e-5)
        assert np.array_equal(column(table, "prediction"), wanted.argmax(1))


def test_class_names_become_a_column(session: Any, model: Any, tmp_path: Path) -> None:
    from netdsl.spark import NetModel

    names = list("abcdefg")
    model.setClasses(names).setHandleInvalid("keep").save(str(tmp_path / "model"))
    rows = [[0.5] * 15, [-2.0] * 15, None]
    table = session.createDataFrame([(row,) for row in rows], "pixels array<double>").coalesce(1)
    found = NetModel.load(str(tmp_path / "model")).transform(table).collect()
    assert [row.predicted_class for row in found[:2]] == [names[int(row.prediction)] for row in found[:2]]
    assert found[2].predicted_class is None
    assert model.copy().setClassCol("").transform(table).columns[-1] == "prediction"
    with pytest.raises(DataError, match="the net predicts 7 classes, but the param classes names 2"):
        model.setClasses(["a", "b"]).transform(table)
    with pytest.raises(TypeError, match="classes must be a list of names that starts with class 0, not 'abc'"):
        model.setClasses("abc")


def test_other_columns_are_unchanged(session: Any, model: Any) -> None:
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import Row

    row = Row(
        pixels=Vectors.dense(PIXELS[0].ravel()),
        text="größer",
        when=datetime.datetime(2020, 2, 29, 1, 2, 3, 4),
        day=datetime.date(1999, 12, 31),
        exact=Decimal("1.500"),
        words={"a": [1, None]},
        inner=Row(x="y", y=2.5),
        data=bytearray(b"\0\1"),
    )
    known = session.createDataFrame([row]).schema
    table = session.createDataFrame([(*row, None)] * 2, known.add("empty", "string"))
    found = model.transform(table)
    assert found.schema.fields[: len(table.columns)] == table.schema.fields
    for one, other in zip(found.collect(), table.collect(), strict=True):
        assert one[: len(table.columns)] == tuple(other)


@pytest.mark.parametrize("invalid", ["error", "skip", "keep"])
@pytest.mark.parametrize("vectors", [False, True])
def test_elements_of_an_rdd_get_the_values_of_the_columns(
    session: Any, model: Any, vectors: bool, invalid: str
) -> None:
    from pyspark.sql import Row

    model.setVectors(vectors).setHandleInvalid(invalid).setBatchSize(4)
    pixels = [each.ravel().tolist() for each in PIXELS] * 50  # more rows than one chunk
    if invalid != "error":
        pixels[1], pixels[7], pixels[520] = None, [float("nan")] * 15, None
    rows = list(enumerate(pixels))
    table = session.createDataFrame(rows, "number int, pixels array<double>").coalesce(1)
    expected = [repr(tuple(row)[2:]) for row in model.transform(table).collect()]  # here a NaN equals a NaN
    numbers = session.sparkContext.parallelize(rows, 1)
    forms = {
        Row: numbers.map(lambda pair: Row(number=pair[0], pixels=pair[1])),
        dict: numbers.map(lambda pair: {"number": pair[0], "pixels": pair[1]}),
        tuple: numbers.map(lambda pair: (pair[1], pair[0])),  # in the order of training: the data, then the label
    }
    for form, elements in forms.items():
        found = model.transform(elements).collect()
        values = [element.values() if form is dict else element for element in found]
        assert [type(element) for element in found] == [form] * len(expected)
        assert [repr(tuple(value)[2:]) for value in values] == expected
    assert found[0][:2] == (pixels[0], 0)
    (first, *_) = model.transform(numbers.values()).collect()
    assert repr(first[1:]) == expected[0] and first[0] == pixels[0]
    assert list(model.transform(forms[Row]).first().__fields__) == ["number", "pixels", "probability", "prediction"]


def test_elements_that_do_not_fit_are_refused(session: Any, model: Any) -> None:
    numbers = session.sparkContext.parallelize([(PIXELS[0], 1, 2)], 1)
    with pytest.raises(Exception, match="an element of the RDD has 3 values; give one for each of data"):
        model.transform(numbers).collect()
    twice = numbers.map(lambda values: {"pixels": values[0], "prediction": 3})
    assert len(model.transform(twice, {model.predictionCol: "digit"}).first()) == 4
    with pytest.raises(DataError, match="the param classes names 2"):
        model.setClasses(["a", "b"]).transform(numbers)


def test_blobs_become_columns_of_numbers_or_vectors(session: Any, model: Any) -> None:
    wanted = model.net().forward
    features = model.copy().setOutputs({"conv": "features", "scores": "scores"}).setPredictionCol("")
    table = features.setVectors(True).setBatchSize(2).transform(frame(session))
    assert table.dtypes[2:] == [("features", "vector"), ("scores", "vector"), ("probability", "vector")]
    scores = column(table, "scores")
    exp = np.exp(scores - scores.max(1, keepdims=True))
    assert np.allclose(column(table, "probability"), exp / exp.sum(1, keepdims=True), rtol=1e-4)
    assert column(table, "features").shape == (11, 6 * 2 * 4)
    assert wanted(data=PIXELS, label=np.zeros((11, 1)))["loss"].shape == ()
    assert model.getOutputs() == {}


def test_encoded_images_and_preprocess_are_supported(session: Any, weights: Path) -> None:
    from netdsl.spark import NetModel

    pixels = np.random.default_rng(3).integers(0, 256, (3, 1, 3, 5), np.uint8)
    rows = [(n, bytearray(encode(each, ImageFormat.PNG, ""))) for n, each in enumerate(pixels)]
    table = session.createDataFrame(rows, "number int, content binary")
    scaled = NetParams(
        RDDLayer("data", shape=[4, 1, 3, 5], transform_param={"scale": 1 / 256}),
        *PARAMS.message.layer[1:],
    )
    model = NetModel(scaled, weights, bindings={"data": "content"})
    wanted = expected(weights, pixels / np.float32(256))
    assert np.allclose(column(model.transform(table), "probability"), wanted, rtol=1e-5)

    raw = session.createDataFrame([(n, bytearray(each.tobytes())) for n, each in enumerate(pixels)], table.schema)
    prepared = NetModel(PARAMS, weights, bindings={"data": "content"}, preprocess=lambda arrays: {
        "data": arrays["data"] / np.float32(256)
    })  # fmt: skip
    assert np.allclose(column(prepared.transform(raw), "probability"), wanted, rtol=1e-5)


def test_a_saved_model_predicts_the_same(session: Any, model: Any, weights: Path, tmp_path: Path) -> None:
    from pyspark.ml import PipelineModel
    from pyspark.ml.feature import VectorAssembler

    from netdsl.spark import Moment, NetModel

    model.setOutputs({"scores": "scores"}).setProbabilityCol("p").history = (Moment(3, 0.5, {"accuracy": 0.25}),)
    model.save(f"file://{tmp_path}/model")
    assert (tmp_path / "model" / "weights.caffemodel").read_bytes() == weights.read_bytes()
    assert json.loads(next((tmp_path / "model" / "metadata").glob("part*")).read_text())["class"] == (
        "netdsl.spark.NetModel"
    )
    loaded = NetModel.load(str(tmp_path / "model"))
    assert (loaded.uid, loaded.history) == (model.uid, model.history)
    assert loaded.explainParams() == model.explainParams()
    scores = [column(each.transform(frame(session)), "scores") for each in (loaded, model)]
    np.testing.assert_allclose(*scores, rtol=1e-5)  # the last bits depend on which rows are multiplied together

    names = [f"x{n}" for n in range(15)]
    assembler = VectorAssembler(inputCols=names, outputCol="pixels")
    PipelineModel([assembler, model]).write().overwrite().save(str(tmp_path / "model"))
    numbers = session.createDataFrame(
        [(n, *map(float, each.ravel())) for n, each in enumerate(PIXELS)], ["number", *names]
    )
    found = PipelineModel.load(str(tmp_path / "model")).transform(numbers)
    assert np.allclose(column(found, "scores"), scores[0], rtol=1e-5)  # in batches of different rows


def test_a_function_is_not_saved(session: Any, model: Any, tmp_path: Path) -> None:
    from netdsl.spark import NetModel

    model.setPreprocess(lambda arrays: arrays).save(str(tmp_path / "model"))
    loaded = NetModel.load(str(tmp_path / "model"))
    with pytest.raises(DataError, match=f"{model.uid} was saved without its preprocess function"):
        loaded.transform(frame(session))
    assert loaded.setPreprocess(lambda arrays: arrays).transform(frame(session)).count() == 11


def test_invalid_settings_are_refused(session: Any, model: Any) -> None:
    with pytest.raises(DataError, match=r"no column 'data' for blob 'data'; choose from number, pixels"):
        model.copy().setBindings({}).transform(frame(session))
    with pytest.raises(DataError, match="there would be two columns 'number'"):
        model.copy().setPredictionCol("number").transform(frame(session))
    only = NetParams(*PARAMS.message.layer[:1], *PARAMS.message.layer[2:3])
    from netdsl.spark import NetModel

    with model.files() as (_, weights):
        features = NetModel(only, weights, bindings=BINDINGS, outputs={"conv": "features"})
    assert features.transform(frame(session)).columns == ["number", "pixels", "features"]
    with pytest.raises(DataError, match="so predictionCol 'class' would have no values"):
        features.setPredictionCol("class").transform(frame(session))
    with pytest.raises(TypeError, match="NetModel has no param 'color'; its params are batchSize, bindings"):
        model.setParams(color=1)


def test_a_closed_model_can_be_used_again(session: Any, model: Any) -> None:
    assert model.transform(frame(session)).count() == 11
    model.copy().close()
    assert model.transform(frame(session)).count() == 11
    model.close()


def test_a_killed_executor_loses_no_rows(session: Any, model: Any, weights: Path, tmp_path: Path) -> None:
    def kills_once(arrays: Any) -> Any:
        try:
            (tmp_path / "killed").touch(exist_ok=False)
        except FileExistsError:
            return arrays
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        # the net that Spark sent to it is lost with it
        os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
        return arrays

    table = frame(session, 4)
    found = model.setPreprocess(kills_once).transform(table)
    assert np.allclose(column(found, "probability"), expected(weights), rtol=1e-5)
    assert (tmp_path / "killed").exists()


def test_rows_that_are_not_finite_have_no_class(model: Any, session: Any) -> None:
    pixels = [each.ravel().tolist() for each in PIXELS]
    pixels[3][2] = float("nan")
    nulls = [(11, None), (12, [*pixels[0][:-1], None])]
    rows = session.createDataFrame([*enumerate(pixels), *nulls], "number int, pixels array<double>").coalesce(1)
    with pytest.raises(Exception, match=r"column 'pixels': row 3 of partition 0 has a value that isn't fini") as error:
        model.transform(rows).collect()
    assert "Traceback" not in str(error.value)
    skipped = model.copy().setHandleInvalid("skip").transform(rows).collect()
    assert [row["number"] for row in skipped] == [0, 1, 2, *range(4, 11)]
    kept = model.copy().setHandleInvalid("keep").transform(rows).collect()
    assert [row["number"] for row in kept if np.isnan(row["prediction"])] == [3, 11, 12]
    with pytest.raises(TypeError, match="handleInvalid must be one of error, skip, keep, not 'ignore'"):
        model.setHandleInvalid("ignore")
