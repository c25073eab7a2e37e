"""Nets that Spark's executors keep for a program's own loop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss, WeightCollection
from netdsl.dsl import Dropout
from netdsl.errors import DataError, DistributedError, NetError
from tests.netdsl.spark import listing3_driver
from tests.netdsl.spark.conftest import executor_of

pytestmark = pytest.mark.spark

SETTINGS = {"base_lr": 0.1, "momentum": 0.9, "random_seed": 3}
ROWS = np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32)
LABELS = (ROWS[:, 0] > 0).astype(int).tolist()


def net_of() -> Net:
    return Net(
        NetParams(
            "two",
            RDDLayer("data", shape=[8, 4]),
            RDDLayer("label", shape=[8, 1]),
            LinearLayer("ip1", ["data"], num_outputs=6, weight_filler={"type": "xavier"}),
            Dropout("drop", ["ip1"], in_place=True),
            LinearLayer("ip2", ["ip1"], num_outputs=2, weight_filler={"type": "xavier"}),
            SoftmaxWithLoss("loss", ["ip2", "label"]),
        )
    )


@pytest.fixture(scope="module")
def rdd(session: Any) -> Any:
    return session.sparkContext.parallelize(list(zip(ROWS, LABELS, strict=True)), 3)


@pytest.fixture(scope="module")
def begin() -> WeightCollection:
    return net_of().get_weights()


def train_ten(net: Net) -> float:
    return net.train(10, alone=True)


def test_the_listing_reads_every_row_once_an_epoch_and_ends_with_the_bits_of_averaging(tmp_path: Path) -> None:
    words = [sys.executable, listing3_driver.__file__, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["same"] and found["same score"] and found["score"] < 1
    assert found["epochs"] == [True, True] and (tmp_path / "killed").exists()


@pytest.mark.parametrize("whom", ["worker", "executor"])
def test_a_loop_has_the_same_bits_whichever_process_is_killed(
    rdd: Any, begin: WeightCollection, tmp_path: Path, whom: str
) -> None:
    def dies_once(net: Net) -> float:
        loss = train_ten(net)
        try:
            (tmp_path / "killed").touch(exist_ok=False)
        except FileExistsError:
            return loss
        os.kill(os.getpid() if whom == "worker" else executor_of(os.getpid()), signal.SIGKILL)
        raise AssertionError

    results = []
    for work in (train_ten, dies_once):
        net = net_of()
        net.set_weights(begin)
        with net.on(rdd, workers=3, **SETTINGS) as nets:
            nets.train(5)
            nets.average()
            losses = nets.map(work)
            nets.average()
            losses.append(nets.train(5))
            results.append((losses, nets.weights(), nets.iteration))
    assert (tmp_path / "killed").exists()
    assert results[0] == results[1]
    assert results[0][2] == 20


def test_a_loop_with_user_functions_is_the_same(rdd: Any, begin: WeightCollection) -> None:
    net, other = net_of(), net_of()
    for each in (net, other):
        each.set_weights(begin)
    with net.on(rdd, workers=2, **SETTINGS) as nets, other.on(rdd, workers=2, **SETTINGS) as others:
        for _ in range(2):
            nets.train(10)
            nets.average()
            losses = others.map(train_ten)
            own, others_own = nets.weights(), others.weights()
            assert own[0] == own[1] == net.get_weights()
            others.set_weights(WeightCollection.mean(others_own))
        assert nets.history[-1].loss == sum(losses) / 2
        assert [moment.iteration for moment in nets.history] == [10, 20]
    assert other.get_weights() == net.get_weights()
    assert net.test(rdd)["loss"] == other.test(rdd)["loss"]


def test_a_function_that_fails_changes_nothing(rdd: Any, begin: WeightCollection) -> None:
    def fails(net: Net) -> None:
        net.train(3, alone=True)
        raise KeyError("no such thing")

    with net_of() as net, net.on(rdd, workers=2, **SETTINGS) as nets:
        nets.set_weights(begin)
        nets.train(5)
        before = nets.weights()
        with pytest.raises(DistributedError, match="worker 0: KeyError: 'no such thing'") as error:
            nets.map(fails)
        assert "in fails" in error.value.__notes__[0]
        with pytest.raises(DistributedError, match="leave the settings"):
            nets.map(lambda net: net.train((ROWS, LABELS), 1, alone=True))
        assert nets.weights() == before
        assert nets.iteration == 5


def test_epochs_and_frames_are_supported_and_invalid_data_refused(session: Any, rdd: Any) -> None:
    frame = session.createDataFrame([(row.tolist(), label) for row, label in zip(ROWS, LABELS, strict=True)])
    frame = frame.toDF("features", "label")
    net = net_of()
    with pytest.raises(DataError, match="no column 'data' for blob 'data'"):
        net.on(frame, workers=2)
    with net.on(frame, workers=2, bindings={"data": "features"}, base_lr=0.1) as nets:
        nets.train(epochs=2)
        assert nets.iteration == 19  # of 150 rows, in batches of 8, twice, for two workers
        assert repr(nets) == "NetRDD('two', 2 workers, iteration 19)"
        with pytest.raises(NetError, match="either steps, as in steps=50, or epochs, as in epochs=1"):
            nets.train()
    with pytest.raises(DistributedError, match="are closed"):
        nets.train(1)
    with pytest.raises(DataError, match="a tuple is only in this process"):
        net.on((ROWS, LABELS), workers=2)
    with pytest.raises(DataError, match=r"an element of the RDD has 4 values; give one for each of data, label"):
        net.on(rdd.keys().map(tuple), workers=2)  # rows without labels


def test_a_net_of_the_driver_reads_rows_of_spark(session: Any, rdd: Any, begin: WeightCollection) -> None:
    frame = session.createDataFrame(
        [(row.tolist(), label) for row, label in zip(ROWS, LABELS, strict=True)], "data array<float>, label int"
    ).coalesce(1)
    losses = []
    for data in (rdd, frame):
        with net_of() as net:
            net.set_weights(begin)
            net.set_training_data(data)
            first = net.train(1, **SETTINGS)
            losses.append((first, net.train(30), net.train(data, epochs=1), net.test(data)["loss"]))
            folder = Path(net._given[net.phase].user_data.source.removeprefix("arrow:")).parent  # type: ignore[union-attr]
            assert folder.is_dir()
        assert not folder.exists()
    assert losses[0] == losses[1]
    assert losses[0][3] < losses[0][0]
    with pytest.raises(DataError, match=r"no column 'label'.* with frame.withColumnRenamed"):
        net_of().set_training_data(frame.drop("label"))


def test_a_net_works_in_a_function_of_spark(rdd: Any) -> None:
    with net_of() as net:
        net.train(rdd, 5, **SETTINGS)

        def losses(elements: Any) -> list[float]:
            data, label = map(np.array, zip(*elements, strict=True))
            return [float(net.forward(data=data, label=label[:, None])["loss"])]

        parts = [slice(start, start + 50) for start in (0, 50, 100)]
        expected = [losses(zip(ROWS[part], LABELS[part], strict=True)) for part in parts]
        assert rdd.mapPartitions(losses).collect() == [loss for values in expected for loss in values]
