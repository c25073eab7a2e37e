"""Training as in SparkNet's first listing: set data, take steps, and get and set weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer
from netdsl.data.tables.table import Table
from netdsl.dsl import Accuracy, Reduction, Sigmoid, SoftmaxWithLoss, TanH
from netdsl.errors import DataError, GradientWarning, NetError

XAVIER = {"type": "xavier"}


def net_of() -> Net:
    return Net(
        NetParams(
            "two",
            RDDLayer("data", shape=[8, 3]),
            RDDLayer("label", shape=[8, 1]),
            LinearLayer("ip", ["data"], num_outputs=2, weight_filler=XAVIER),
            Accuracy("accuracy", ["ip", "label"], include={"phase": "TEST"}),
            SoftmaxWithLoss("loss", ["ip", "label"]),
        )
    )


def items(count: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    data = np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32)
    return [{"data": row, "label": np.float32(row[0] + row[1] > 0)} for row in data]


def test_it_learns_from_items_and_is_tested_on_others() -> None:
    net = net_of()
    net.set_training_data(items(64))
    net.set_validation_data(items(40, seed=1))
    before = net.test(5)
    first = net.train(1, base_lr=0.5)
    last = net.train(60)
    after = net.test(5)
    assert last < first
    assert after["accuracy"] > max(0.9, before["accuracy"])
    assert set(after) == {"accuracy", "loss"}


def test_a_net_that_segments_is_scored_over_batches_as_one_set() -> None:
    net = Net(
        NetParams(
            "places",
            RDDLayer("data", shape=[4, 3, 5, 6]),
            RDDLayer("label", shape=[4, 1, 5, 6]),
            ConvLayer("score", ["data"], kernel=1, num_filters=2, weight_filler=XAVIER),
            SoftmaxWithLoss("loss", ["score", "label"]),
        )
    )
    data = np.random.default_rng(0).normal(size=(12, 3, 5, 6)).astype(np.float32)
    images = [{"data": image, "label": (image[:1] > 0).astype(np.float32)} for image in data]
    net.set_training_data(images)
    net.set_validation_data(images)
    (before,) = net.score(3).segmentations
    net.train(60, base_lr=0.5)
    (after,) = net.score(3).segmentations
    assert (after.blob, after.counts.sum(1).tolist()) == ("score", before.counts.sum(1).tolist())
    assert after.counts.sum() == 12 * 5 * 6 and after.scores.mean_iou > max(0.9, before.scores.mean_iou)
    classifier = net_of()
    classifier.set_validation_data(items(8))
    with pytest.raises(NetError, match="judges detections or compares the classes of pixels"):
        classifier.score(1)


def test_data_may_be_a_function_that_returns_batches() -> None:
    batches: Iterator[int] = iter(range(100))

    def next_batch() -> tuple[np.ndarray, np.ndarray]:
        rows = items(8, seed=next(batches))
        return np.stack([row["data"] for row in rows]), np.stack([row["label"] for row in rows])

    net = net_of()
    net.set_training_data(next_batch)
    net.train(3)
    assert next(batches) == 3


def test_training_continues_with_weights_that_were_set() -> None:
    net = net_of()
    net.set_training_data(items(8))
    net.train(2)
    weights = net.get_weights()
    net.train(2)
    assert net.get_weights() != weights
    net.set_weights(weights)
    assert net.get_weights() == weights
    np.testing.assert_array_equal(net.module.layers["ip"].weight.detach(), weights["ip"][0])
    net.set_weights(weights * 0)
    net.train(1, base_lr=0.0, momentum=0.0)
    assert net.get_weights() == weights * 0


def test_settings_are_those_of_solvers() -> None:
    net = net_of()
    net.set_training_data(items(8))
    with pytest.raises(NetError, match="did you mean base_lr"):
        net.train(1, base_rl=0.1)
    with pytest.raises(NetError, match="unknown solver type 'Adamm'"):
        net.train(1, type="Adamm")
    assert net.train(1, type="Adam") > 0


def test_data_may_be_a_table(tmp_path: Path) -> None:
    for name, seed in (("train", 0), ("test", 1)):
        rows = items(50, seed)
        (tmp_path / name).mkdir()
        pq.write_table(
            pa.table({"x": [row["data"].tolist() for row in rows], "label": [float(row["label"]) for row in rows]}),
            tmp_path / name / "t.parquet",
        )
    net = net_of()
    net.set_training_data(Table(f"parquet:{tmp_path}/train", {"data": "x"}, shuffle=True))
    net.set_validation_data(Table(f"parquet:{tmp_path}/test", {"data": "x"}))
    net.train(60, base_lr=0.5)
    assert net.test(5)["accuracy"] > 0.9


def test_differences_from_caffes_gradients_give_a_warning_and_caffes_are_optional() -> None:
    params = NetParams(
        "in place",
        RDDLayer("data", shape=[8, 3]),
        LinearLayer("ip", ["data"], num_outputs=2, weight_filler=XAVIER),
        Sigmoid("sigmoid", ["ip"], tops=["ip"]),
        TanH("tanh", ["ip"], tops=["ip"]),
        Reduction("loss", ["ip"], loss_weight=1.0),
    )
    net, as_caffe = Net(params), Net(params, caffe_gradients=True)
    as_caffe.set_weights(net.get_weights())
    for each in (net, as_caffe):
        each.set_training_data([{"data": item["data"]} for item in items(8)])
    as_caffe.train(1)
    with pytest.warns(GradientWarning, match="the gradients of layer 'sigmoid' differ from Caffe's"):
        net.train(1)
    assert not np.array_equal(net.get_weights()["ip"][0], as_caffe.get_weights()["ip"][0])


def test_training_without_data_is_an_error() -> None:
    with pytest.raises(DataError, match="no layer of this net reads data for data, label; pass data that contain them"):
        net_of().train(1)
