"""The predictions of a run's model for its test data."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto.copies import copy_of
from netdsl.data.sources.open_source import open_source
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import MODEL
from netdsl.model import Model
from netdsl.model.opening import open_weights
from tests.zoo.report.recorded import net, write_run
from zoo.report.pictures import first_filters
from zoo.report.predictions import (
    ClassQuality,
    ConfusedPair,
    Confusion,
    TestedModel,
    TestPredictions,
    open_trained,
)

CONFUSION = Confusion.of(
    np.array([0, 0, 0, 1, 1, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 0, 0, 0]), ["cat", "dog", "eel", "fox"]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(5)
    folder = tmp_path_factory.mktemp("run")
    write_run(folder)
    return folder


def predictions(run: Run, folder: Path, items: int) -> TestPredictions | None:
    with closing(TestedModel(run, open_weights(folder / MODEL))) as tested:
        return tested.predictions(items)


def test_every_item_is_tested_once_and_the_worst_mistakes_are_kept(folder: Path) -> None:
    found = predictions(Run.load(folder), folder, 1000)
    assert found is not None
    source = open_source("digits:test")
    labels = [int(source.item(source.fetch(index))[1]) for index in range(len(source))]
    source.close()
    assert found.labels.tolist() == labels and found.total == 355
    assert (found.source, found.classes, found.are_probabilities) == ("digits:test", tuple("0123456789"), True)
    assert len(found.mistakes) == 24
    surest = [mistake.probability for mistake in found.mistakes]
    assert surest == sorted(surest, reverse=True)
    for mistake in found.mistakes:
        assert labels[mistake.item] == mistake.label != mistake.predicted == found.predicted[mistake.item]
        assert mistake.right_probability <= mistake.probability <= 1
        assert mistake.image is not None and mistake.image.shape == (8, 8)


def test_only_the_first_of_many_items_are_used(folder: Path) -> None:
    found = predictions(Run.load(folder), folder, 50)
    whole = predictions(Run.load(folder), folder, 355)
    assert found is not None and whole is not None
    assert (len(found.labels), found.total) == (50, 355)
    assert np.array_equal(found.predicted, whole.predicted[:50])
    assert all(mistake.item < 50 for mistake in found.mistakes)


def test_the_accuracy_equals_that_of_the_nets_own_test(folder: Path) -> None:
    from zoo.testing import test

    (folder / "net.prototxt").write_text(net().prototxt().replace("batch_size: 36", "batch_size: 71"))
    net_file, weights = (str(folder / name) for name in ("net.prototxt", MODEL))
    outputs = test(net=net_file, weights=(weights,), iterations=5, device="cpu").outputs
    found = predictions(Run.load(folder), folder, 355)
    assert found is not None
    assert float((found.labels == found.predicted).mean()) == pytest.approx(outputs["accuracy"], abs=1e-6)


def test_a_run_without_tests_has_no_predictions(folder: Path) -> None:
    run = Run.load(folder)
    run = replace(run, solver=run.solver.without_tests())
    assert predictions(run, folder, 10) is None


def test_a_net_that_does_not_classify_has_no_predictions(folder: Path) -> None:
    run = Run.load(folder)
    net = copy_of(run.solver.net_to_train.net)
    del net.layer[4:]
    net.layer.add(name="distance", type="EuclideanLoss", bottom=["scores", "scores"], top=["distance"])
    run = replace(run, solver=run.solver.with_net(Model(net)))
    assert predictions(run, folder, 10) is None


def test_filters_are_those_of_the_first_layer_that_learns(folder: Path) -> None:
    model, problem = open_trained(Run.load(folder))
    found = first_filters(model, open_weights(folder / MODEL).weights)
    assert problem == "" and found is not None
    assert (found.layer, found.total, found.shape) == ("conv1", 5, (1, 3, 3))
    weights = open_weights(folder / MODEL).weights["conv1"][0]
    for image, values in zip(found.images, weights, strict=True):
        assert np.unravel_index(image.argmax(), image.shape) == np.unravel_index(values[0].argmax(), (3, 3))


def test_rows_are_labels_and_columns_are_predictions() -> None:
    assert CONFUSION.counts.tolist() == [[2, 1, 0, 0], [2, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert CONFUSION.accuracy == 0.5
    assert CONFUSION.shares()[0] == pytest.approx([2 / 3, 1 / 3, 0, 0])


def test_only_classes_that_occur_have_scores() -> None:
    cat, dog, eel = CONFUSION.scores()
    assert cat == ClassQuality("cat", 3, 2 / 5, 2 / 3, 4 / 8)
    assert (dog.precision, dog.recall) == (2 / 3, 1 / 2)
    assert eel == ClassQuality("eel", 1, None, 0.0, 0.0)  # no item was predicted as this class


def test_the_most_confused_pairs_are_listed() -> None:
    assert CONFUSION.worst_pairs(2) == [ConfusedPair("dog", "cat", 2, 0.5), ConfusedPair("cat", "dog", 1, 1 / 3)]
    assert len(CONFUSION.worst_pairs(100)) == 3


def test_a_run_without_items_has_no_predictions() -> None:
    nothing = Confusion.of(np.array([], np.int64), np.array([], np.int64), ["a", "b"])
    assert (nothing.accuracy, nothing.scores(), nothing.worst_pairs(3)) == (None, [], [])
