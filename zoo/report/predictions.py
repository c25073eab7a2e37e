"""Predictions of a run's model for its test data: classes, mistakes, confusions, and scores of the whole set."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caffe_proto.errors import CaffeError
from netdsl.data.sources.class_names import class_names_of_model, classes_of
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.source import NamedItems, Source, StoredColors
from netdsl.distributed.run import Run
from netdsl.errors import NetError
from netdsl.model.model import Model
from netdsl.model.opening import load_weights
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve_own_state
from netdsl.net.module import NetModule
from netdsl.prediction.predictor import Predictor
from netdsl.scores.segmentation import count_confusions
from netdsl.solver.evaluation import average_batches, gather_scores
from netdsl.solver.opened_nets import ClassPrediction, class_predictions, opened_data
from netdsl.solver.trainable_net import Compute, ModuleNet
from zoo.report.pictures import Pixels, is_image, pixels_of
from zoo.score_tables import ScoreTable, score_tables

_LONGEST = 60.0  # time limit in seconds, after which the finished items are enough
_MOST_MISTAKES = 24  # number of mistakes that are shown
_LONGEST_SCORING = 60.0  # time limit in seconds, after which the finished batches are enough


def _open_data(run: Run, model: Model, phase: Phase) -> Feeds:
    """Return the data of one of the run's models. The model then knows the shapes of its layers with these data."""
    graph = resolve_own_state(model.net)
    feeds = Feeds.open(graph, loading=run.compute.loading, table=run.tables.get(phase))
    model.layers_as_read(graph)
    return feeds


def open_trained(run: Run) -> tuple[Model, str]:
    """Return the training model with the shapes of its data, and the reason if the data can't be opened."""
    model = run.solver.trained
    try:
        _open_data(run, model, Phase.TRAIN).close()
    except CaffeError as problem:
        return model, str(problem)
    return model, ""


@dataclass(order=True, frozen=True)
class Mistake:
    """An item for which the model is confident in a wrong class."""

    probability: float  # of the predicted class
    item: int
    name: str = field(compare=False)  # of the item's file; empty if it has none
    label: int = field(compare=False)
    predicted: int = field(compare=False)
    right_probability: float = field(compare=False)
    image: Pixels | None = field(compare=False)


@dataclass(frozen=True)
class TestPredictions:
    """The labels and the predicted classes of items. `total` is the number of all items."""

    __test__ = False  # keeps pytest from collecting the class

    source: str
    total: int
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    mistakes: tuple[Mistake, ...]  # the most confident first
    are_probabilities: bool  # whether the predictions for an item add up to one


class TestedModel:
    """The first test net of a run, with weights from a file. Its data are opened when needed."""

    __test__ = False  # keeps pytest from collecting the class

    def __init__(self, run: Run, weights: Model) -> None:
        self._run, self._weights = run, weights
        self._compute = Compute(_device_here(run), loading=run.compute.loading)
        self._classes = class_names_of_model(*weights.files)
        self._feeds: Feeds | None = None

    @cached_property
    def _model(self) -> Model:
        model = self._run.solver.tested[0]
        self._feeds = _open_data(self._run, model, Phase.TEST)
        return model.with_weights(self._weights.weights)

    def _feeds_from_start(self) -> Feeds:
        assert self._feeds is not None  # opening the model sets the feeds
        self._feeds.seek(dict.fromkeys(self._feeds.positions(), 0))
        return self._feeds

    def close(self) -> None:
        """Close the data."""
        if self._feeds is not None:
            self._feeds.close()

    def predictions(self, items: int) -> TestPredictions | None:
        """Return the predictions for the first items, or `None` if the net isn't tested or doesn't classify."""
        if not self._run.solver.tested:
            return None
        model = self._model
        prediction = next(class_predictions(model.settled(Phase.TEST).built, measured=True), None)
        if prediction is None:
            return None
        predictor, blobs = Predictor(model).load(self._compute.device), model.graphs[0].blobs
        return _Tester(predictor, self._feeds_from_start(), blobs, prediction, self._classes).test(items)

    def scores(self, items: int) -> tuple[ScoreTable, ...]:
        """Return the scores over the batches of a test, with at most `items` items, or nothing if the net has no
        scores."""
        if not self._run.solver.tested:
            return ()
        built = self._model.layers(Phase.TEST).with_own_blobs()
        with gather_scores(built) as scores:
            if not (scores.detections or scores.segmentations):
                return ()
            feeds = self._feeds_from_start()
            net = ModuleNet(NetModule(built).allocate(self._compute.device), feeds.next, self._compute, feeds)
            load_weights(self._weights, built)
            batches = min(self._run.solver.param.test_iter[0], math.ceil(items / max(1, net.batch_size)))
            end = time.monotonic() + _LONGEST_SCORING
            average_batches(net, batches, lambda: time.monotonic() > end)
            classes = next((opened.classes for opened in opened_data(net) if opened.classes), ())
        return score_tables(scores, classes or self._classes)


def _device_here(run: Run) -> torch.device:
    """Return the device of the run's first worker, or the CPU if this machine has no GPU."""
    device = run.device(0)
    return device if device.type == "cpu" or torch.accelerator.is_available() else torch.device("cpu")


class _Tester:
    """Runs the predicting part of a net on the batches of its data."""

    def __init__(
        self,
        predictor: Predictor,
        feeds: Feeds,
        blobs: Sequence[str],
        prediction: ClassPrediction,
        classes: Sequence[str],
    ) -> None:
        self._predictor, self._feeds, self._blobs = predictor, feeds, blobs
        self._prediction, self._classes = prediction, classes
        self._labels, self._predicted = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
        self._mistakes: list[Mistake] = []
        self._are_probabilities = True

    def test(self, items: int) -> TestPredictions:
        """Test on this number of items, each once, or on fewer if it takes too long."""
        reading = next(iter(self._feeds.readings()), None)
        if reading is None:
            raise NetError(
                "the data are endless, and their items can't be counted; leave the predictions out with --items 0"
            )
        total, done, began = len(reading.source), 0, time.monotonic()
        while done < min(items, total) and time.monotonic() - began < _LONGEST:
            labels, scores, images = self._next_batch()
            count = min(len(labels), min(items, total) - done)
            self._add_batch(labels[:count], scores[:count], images, done)
            done += count
        labels, predicted = (np.concatenate(parts) for parts in (self._labels, self._predicted))
        classes = classes_of(reading.source) or self._classes
        names = (*classes, *map(str, range(len(classes), self._prediction.classes)))
        mistakes = tuple(_with_pictures(reading.name, sorted(self._mistakes, reverse=True)))
        return TestPredictions(reading.name, total, names, labels, predicted, mistakes, self._are_probabilities)

    def _next_batch(self) -> tuple[NDArray[np.int64], NDArray[np.float32], Tensor | None]:
        """Return the labels of the next batch, its scores by item and class, and its images if it contains any."""
        batch = {self._blobs[edge]: values for edge, values in self._feeds.next().items()}
        labels = batch[self._prediction.labels].reshape(-1).numpy().astype(np.int64)
        image = next((values for values in batch.values() if is_image(tuple(values.shape[1:]))), None)
        blobs, predicted = self._predictor.built.graph.blobs, self._predictor.prediction
        if predicted is None:
            raise NetError(
                "the net has several predictions, and none of them is the main one; leave the predictions out "
                "with --items 0"
            )
        tops = self._predictor.run({edge: batch[blobs[edge]] for edge in self._predictor.input_edges})
        return labels, tops[predicted].astype(np.float32).reshape(len(labels), -1), image

    def _add_batch(
        self, labels: NDArray[np.int64], scores: NDArray[np.float32], images: Tensor | None, first: int
    ) -> None:
        # Other labels, such as 255, mean that an item doesn't count.
        counted = (labels >= 0) & (labels < scores.shape[1])
        self._are_probabilities &= bool(np.allclose(scores.sum(1), 1, atol=1e-3) and scores.min() >= 0)
        predicted = scores.argmax(1)
        self._labels.append(labels[counted])
        self._predicted.append(predicted[counted])
        for index in np.flatnonzero(counted & (predicted != labels)):
            self._keep_if_worst(int(index), labels, scores, images, first)

    def _keep_if_worst(
        self,
        index: int,
        labels: NDArray[np.int64],
        scores: NDArray[np.float32],
        images: Tensor | None,
        first: int,
    ) -> None:
        """Keep a mistake if it is one of the worst."""
        label, predicted = int(labels[index]), int(scores[index].argmax())
        probability = float(scores[index, predicted])
        if len(self._mistakes) == _MOST_MISTAKES and probability <= self._mistakes[0].probability:
            return
        image = None if images is None else pixels_of(images[index].numpy())
        mistake = Mistake(probability, first + index, "", label, predicted, float(scores[index, label]), image)
        (heapq.heappush if len(self._mistakes) < _MOST_MISTAKES else heapq.heappushpop)(self._mistakes, mistake)


def _with_pictures(source_name: str, mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return mistakes with the names of their files and the pictures in them. If the data can't be opened a second
    time, the pictures are the net's input."""
    try:
        with closing(open_source(source_name)) as source:
            return [_with_picture(source, mistake) for mistake in mistakes]
    except CaffeError:
        return list(mistakes)


def _with_picture(source: Source, mistake: Mistake) -> Mistake:
    name = source.name(mistake.item) if isinstance(source, NamedItems) else ""
    stored = source.item(source.fetch(mistake.item))[0]
    if not is_image(stored.shape):
        return replace(mistake, name=name)
    if isinstance(source, StoredColors) and source.stored_rgb:
        stored = stored[::-1]
    return replace(mistake, name=name, image=pixels_of(np.asarray(stored, np.float32)))


@dataclass(frozen=True)
class ClassQuality:
    """The scores of a class. A score is `None` if there are no items to compute it from."""

    name: str
    items: int
    precision: float | None  # the share of items of the class among those predicted as the class
    recall: float | None  # the share of the class's items that are predicted as the class
    f1: float | None  # the harmonic mean of both


@dataclass(frozen=True)
class ConfusedPair:
    """The number of items of one class that were predicted as another."""

    label: str
    predicted: str
    count: int
    share: float  # relative to all items of the class


@dataclass(frozen=True)
class Confusion:
    """Numbers of items, by label in rows and by predicted class in columns."""

    classes: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: Sequence[str]) -> Confusion:
        """Return the confusion of some items."""
        return cls(tuple(classes), count_confusions(labels, predicted, len(classes)))

    @property
    def accuracy(self) -> float | None:
        """The share of correct predictions, or `None` without items."""
        return _share(int(np.trace(self.counts)), int(self.counts.sum()))

    def shares(self) -> list[list[float]]:
        """Return each count relative to the sum of its row."""
        shares: list[list[float]] = (self.counts / np.maximum(1, self.counts.sum(1, keepdims=True))).tolist()
        return shares

    def scores(self) -> list[ClassQuality]:
        """Return the scores of all classes that occur as labels or predictions."""
        predicted, labeled = self.counts.sum(0), self.counts.sum(1)
        indices: list[int] = np.flatnonzero(predicted + labeled).tolist()
        return [self._scores_of_class(index, int(predicted[index]), int(labeled[index])) for index in indices]

    def _scores_of_class(self, index: int, predicted: int, labeled: int) -> ClassQuality:
        right = int(self.counts[index, index])
        f1 = _share(2 * right, predicted + labeled)
        return ClassQuality(self.classes[index], labeled, _share(right, predicted), _share(right, labeled), f1)

    def worst_pairs(self, most: int) -> list[ConfusedPair]:
        """Return the most frequently confused pairs of classes."""
        wrong = self.counts.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        shares, pairs = self.shares(), list[ConfusedPair]()
        for label, predicted in zip(*np.unravel_index(order, wrong.shape), strict=True):
            count = int(wrong[label, predicted])
            if count:
                names = self.classes[label], self.classes[predicted]
                pairs.append(ConfusedPair(*names, count, shares[label][predicted]))
        return pairs


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
