"""Training nets on DataFrames with a real Spark."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from netdsl import Accuracy, LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.data.sources.known_sets import DigitsSource
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.source import DataSplit
from netdsl.distributed.run_log import read_records
from netdsl.distributed.run_worker import MODEL
from netdsl.errors import DataError, DistributedError, NetError, SolverError
from netdsl.solver.events import Event
from netdsl.training.job import train_alone
from tests.netdsl.training.test_job import ITERATIONS, STRATEGIES, digits
from tests.netdsl.training.test_job import accuracy as last_accuracy

pytestmark = pytest.mark.spark

PARAMS = NetParams(
    "small",
    RDDLayer("data", shape=[8, 4]),
    RDDLayer("label", shape=[8, 1]),
    LinearLayer("scores", ["data"], num_outputs=3, weight_filler={"type": "xavier"}),
    Accuracy("accuracy", ["scores", "label"], include={"phase": "TEST"}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
IMAGE = "struct<origin: string, height: int, width: int, nChannels: int, mode: int, data: binary>"
SETTINGS = {"max_iter": 60, "base_lr": 0.2, "display": 20}


@pytest.fixture
def estimator(session: Any) -> Any:
    from netdsl.spark import NetEstimator

    return NetEstimator(net=PARAMS, solver=SETTINGS, bindings={"data": "features"}, strategy="averaging:tau=10", seed=7)


@pytest.fixture(scope="module")
def frame(session: Any) -> Any:
    """Return points around three centers, which a linear net can separate. Every fifth point is for validation."""
    random = np.random.default_rng(5)
    centers = random.standard_normal((3, 4)) * 3
    rows = [((centers[n % 3] + random.standard_normal(4)).tolist(), n % 3, n % 5 == 0) for n in range(150)]
    return session.createDataFrame(rows, "features array<double>, label int, held boolean").coalesce(3).cache()


def accuracy(table: Any) -> float:
    rows = table.select("label", "prediction").collect()
    return sum(row.label == row.prediction for row in rows) / len(rows)


def test_a_net_learns_and_is_tested_on_other_rows(frame: Any, estimator: Any, tmp_path: Path) -> None:
    model = estimator.setRunFolder(tmp_path / "run").setValidationIndicatorCol("held").fit(frame)
    assert [len(open_source(f"arrow:{tmp_path}/run/data/{part}")) for part in ("train", "test")] == [120, 30]
    assert accuracy(model.transform(frame.where("held"))) > 0.9
    last = model.history[-1]
    assert (last.iteration, set(last.tested)) == (60, {"accuracy", "loss"})
    assert [moment.iteration for moment in model.history if moment.loss is not None] == [0, 20, 40]
    assert model.history[0].loss > last.tested["loss"]
    assert model.getBindings() == {"data": "features"}


@pytest.mark.parametrize(("strategy", "iterations"), [("averaging:tau=50", [8, 15, 23]), ("allreduce", [15, 30, 45])])
def test_epochs_count_rows_that_were_seen(
    frame: Any, estimator: Any, strategy: str, iterations: list[int], tmp_path: Path
) -> None:
    """The data have 120 rows. A batch has 8 rows, and two workers read one batch each or divide one."""
    estimator.setSolver({"base_lr": 0.2}).setEpochs(3).setStrategy(strategy).setRunFolder(tmp_path / "run")
    model = estimator.setValidationIndicatorCol("held").fit(frame)
    assert [moment.iteration for moment in model.history if moment.tested] == iterations


def test_a_run_resumes_with_the_same_bits_and_without_its_data(
    session: Any, frame: Any, estimator: Any, tmp_path: Path
) -> None:
    frame.write.parquet(str(tmp_path / "table"))
    table, run = session.read.parquet(str(tmp_path / "table")), tmp_path / "run"
    estimator.setRunFolder(run)
    first = estimator.fit(table)
    assert {record.number for record in read_records(run)} == {1, 2, 3, 4, 5, 6}
    with pytest.raises(DistributedError, match="contains a finished run; name another folder"):
        estimator.fit(table)
    (run / MODEL).unlink()
    shutil.rmtree(max((run / "rounds").iterdir()))
    shutil.rmtree(tmp_path / "table")
    with pytest.raises(DistributedError, match="contains a run with other settings"):
        estimator.copy({estimator.strategy: "outer:tau=10"}).fit(table)
    again = estimator.fit(table)
    assert again.net().get_weights() == first.net().get_weights()
    assert again.history == first.history


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")  # one of Spark's own pools
def test_params_pipelines_and_cross_validation_work(session: Any, frame: Any, estimator: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    table = frame.select(*(frame.features[n].alias(f"x{n}") for n in range(4)), "label")
    assembler = VectorAssembler(inputCols=["x0", "x1", "x2", "x3"], outputCol="features")
    Pipeline(stages=[assembler, estimator.setVectors(True)]).write().save(str(tmp_path / "pipeline"))
    pipeline = Pipeline.load(str(tmp_path / "pipeline"))
    loaded = pipeline.getStages()[1]
    assert loaded.explainParams() == estimator.explainParams()
    assert loaded.getNet() == PARAMS.prototxt()

    grid = ParamGridBuilder().addGrid(loaded.solver, [{**SETTINGS, "base_lr": rate} for rate in (0.2, 0.0)]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="logLoss")
    found = CrossValidator(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, parallelism=2, seed=1
    ).fit(table)
    gc.collect()  # collects the pool while its warning is ignored
    assert found.avgMetrics[0] < 0.4 < found.avgMetrics[1]
    found.bestModel.write().save(str(tmp_path / "best"))
    best = PipelineModel.load(str(tmp_path / "best"))
    assert accuracy(best.transform(table)) == accuracy(found.bestModel.transform(table)) > 0.9


def test_an_rdd_and_initial_weights_are_accepted(session: Any, estimator: Any, tmp_path: Path) -> None:
    Net(PARAMS).save(tmp_path / "first.caffemodel")
    elements = session.sparkContext.parallelize([(np.ones(4), n % 3) for n in range(5)], 2)  # fewer rows than a batch
    still = estimator.setBindings({}).setWeights(tmp_path / "first.caffemodel").setSolver({"max_iter": 2, "base_lr": 0})
    session.conf.set("spark.netdsl.folder", str(tmp_path / "shared"))
    try:
        model = still.setWorkers(1).setTransport("relay").fit(elements)
    finally:
        session.conf.unset("spark.netdsl.folder")
    assert model.net().get_weights() == Net(PARAMS, weights=tmp_path / "first.caffemodel").get_weights()
    assert not list((tmp_path / "shared").iterdir())


def test_a_net_whose_data_layer_states_no_shape_is_trained(session: Any, estimator: Any, tmp_path: Path) -> None:
    data = pb.LayerParameter(name="data", type="Data", top=["data", "label"])
    data.data_param.batch_size = 8
    data.data_param.source = "elsewhere"
    net = NetParams(data, *PARAMS.message.layer[2:])
    rows = [(bytearray(bytes(range(n, n + 6))), n % 3) for n in range(20)]
    table = session.createDataFrame(rows, "pixels binary, label int")

    def shaped(arrays: dict[str, Any]) -> dict[str, Any]:
        pixels = np.array([np.frombuffer(each, np.uint8) for each in arrays["data"]])
        return {**arrays, "data": pixels.reshape(-1, 1, 2, 3)}

    settings = {"max_iter": 4, "base_lr": 0.001}
    model = estimator.copy({estimator.net: net, estimator.solver: settings}).setBindings({"data": "pixels"})
    found = model.setPreprocess(shaped).fit(table)
    assert found.net().get_weights()["scores"][0].shape == (3, 6)
    assert found.transform(table).where("prediction is not null").count() == 20


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Return the accuracy on digits of one worker without Spark."""
    events: list[Event] = []
    train_alone(digits(tmp_path_factory.mktemp("alone"), ITERATIONS), listeners=[events.append])
    return last_accuracy(events)


def pictures() -> Iterator[tuple[Any, int, bool]]:
    """Return digits as Spark's images, and whether they are for validation."""
    for split in DataSplit:
        source = DigitsSource(split)
        for image, label in map(source.fetch, range(len(source))):
            yield ("", *image.shape[1:], 1, 0, bytearray(image.tobytes())), int(label), split is DataSplit.TEST


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns_digits(session: Any, alone: float, tmp_path: Path, strategy: str) -> None:
    from netdsl.spark import NetEstimator

    frame = session.createDataFrame(pictures(), f"data {IMAGE}, label int, held boolean")
    solver = digits(tmp_path, ITERATIONS).solver.message
    model = NetEstimator(solver=solver, strategy=strategy, validationIndicatorCol="held").fit(frame)
    found = model.history[-1].tested["accuracy"]
    print(f"{strategy}: {found:.4f}, alone {alone:.4f}")
    assert found >= alone - 0.005
    # tests wrap around at the end of the rows
    assert abs(accuracy(model.transform(frame.where("held"))) - found) < 0.02


def test_rows_without_finite_values_are_an_error_or_not_learned_from(
    session: Any, frame: Any, estimator: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [(None, 0, False), ([0.0, 1.0, float("nan"), 1.0], 1, False), ([0.0, 1.0, None, 1.0], 2, False)]
    table = frame.union(session.createDataFrame(bad, frame.schema))
    with pytest.raises(DataError, match=r"column 'features': row 0 of partition \d+ is null"):
        estimator.fit(table)
    model = estimator.setHandleInvalid("keep").setRunFolder(tmp_path / "run").fit(table)
    assert "fit leaves out 3 of 153 rows, which have a value that is null or not finite" in caplog.text
    assert len(open_source(f"arrow:{tmp_path}/run/data/train")) == 150
    assert [row.label for row in model.transform(table).where("isnan(prediction)").collect()] == [0, 1, 2]
    assert model.setHandleInvalid("skip").transform(table).count() == 150


@pytest.mark.parametrize("kind", ["frame", "rdd"])
def test_images_of_different_sizes_are_resized_by_the_net(session: Any, kind: str) -> None:
    from netdsl.spark import NetEstimator

    params = NetParams(
        "images",
        RDDLayer("data", shape=[4, 1, 4, 4], transform_param={"resize_param": [{"prob": 1, "height": 4, "width": 4}]}),
        RDDLayer("label", shape=[4, 1]),
        LinearLayer("scores", ["data"], num_outputs=2, weight_filler={"type": "xavier"}),
        SoftmaxWithLoss("loss", ["scores", "label"]),
    )
    sizes = [(4, 4), (5, 7), (9, 3)] * 4
    rows = [
        (("", height, width, 1, 0, bytearray([9 * number] * height * width)), number % 2)
        for number, (height, width) in enumerate(sizes)
    ]
    frame = session.createDataFrame(rows, f"data {IMAGE}, label int")
    model = NetEstimator(net=params, solver={"max_iter": 2}, workers=1).fit(frame if kind == "frame" else frame.rdd)
    assert model.transform(frame).where("isnotnull(prediction)").count() == len(rows)


@pytest.mark.parametrize(
    ("change", "problem", "kind"),
    [
        (lambda e: e.clear(e.solver), "the length of the training isn't set", SolverError),
        (lambda e: e.clear(e.net), "names no net to train", SolverError),
        (lambda e: e.setBindings({}), "no column 'data' for blob 'data'; choose from features, label, held", DataError),
        (lambda e: e.setBindings({"data": "features", "dta": "x"}), "blob 'dta' isn't an input of the net", DataError),
        (lambda e: e.setBindings({"data": "label"}), r"value of shape \[\].*'data', which needs \[4\]", DataError),
        (lambda e: e.setValidationIndicatorCol("x"), "no column 'x' to mark the rows", DataError),
        (lambda e: e.setStrategy("averagin"), "unknown strategy 'averagin'; did you mean averaging", NetError),
        (lambda e: e.setWeights("nothing.caffemodel"), "nothing.caffemodel: can't be opened", FileError),
    ],
)
def test_invalid_settings_are_refused_before_workers_begin(
    frame: Any, estimator: Any, change: Callable[[Any], object], problem: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=problem):
        change(estimator)
        estimator.fit(frame)
