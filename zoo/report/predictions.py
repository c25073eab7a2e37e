"""What a run's model predicts for the data that it is tested on: classes, mistakes, confusions, and scores of sets."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from caffe_proto.errors import CaffeError
from netdsl.data.sources.class_names import class_names_of_model, classes_of
from netdsl.distributed.run import Run
from netdsl.errors import NetError
from netdsl.model.opening import load_weights, open_weights
from netdsl.model.weights.files import fill_weights
from netdsl.net.build import build, running
from netdsl.net.feed import Feeds
from netdsl.net.graph import Graph, Phase, connect, filter_layers
from netdsl.net.module import NetModule
from netdsl.prediction.subgraph import PredictionSubgraph, prediction_subgraph
from netdsl.scores.segmentation import count_confusions
from netdsl.solver.evaluation import average_batches, gather_scores
from netdsl.solver.opened_nets import ClassPrediction, class_predictions, opened_data
from netdsl.solver.settings import test_nets, train_net
from netdsl.solver.trainable_net import Compute, ModuleNet
from zoo.report.pictures import Pixels, is_image, pixels_of
from zoo.score_tables import ScoreTable, score_tables

_LONGEST = 60.0  # seconds; then those items are enough that there are
_MOST_MISTAKES = 24  # that are shown
_LONGEST_SCORING = 60.0  # seconds; then those batches are enough that there are


@contextmanager
def _open_data(run: Run, net: pb.NetParameter, phase: Phase) -> Iterator[tuple[pb.NetParameter, Feeds]]:
    """Open the data that a net of the run reads in a phase.

    The net's layers are those of its state then, and state the shapes of what they read.
    """
    graph = connect(filter_layers(net, net.state))
    table = run.tables.get(phase)
    with closing(Feeds.open(graph, loading=run.compute.loading, table=table)) as feeds:
        yield _net_of_graph(graph), feeds


def stated_net(run: Run) -> tuple[pb.NetParameter, str]:
    """The net that is trained, as its data make it, and why they can't be opened, if so."""
    net = train_net(run.solver, run.folder)
    try:
        with _open_data(run, net, Phase.TRAIN) as (opened, _):
            return opened, ""
    except CaffeError as problem:
        return _net_of_graph(connect(filter_layers(net, net.state))), str(problem)


def _first_test_net(run: Run) -> pb.NetParameter | None:
    """The first net that the run tests; None if it tests none."""
    return next(iter(test_nets(run.solver, run.folder)), None)


def _net_of_graph(graph: Graph) -> pb.NetParameter:
    """The net of a graph's layers, which no rules leave out any more."""
    return with_layers(graph.net, (copy_of(node.layer, without=("include", "exclude")) for node in graph.nodes))


@dataclass(order=True, frozen=True)
class Mistake:
    """An item that the model is sure to be of another class than its label says."""

    probability: float  # of the predicted class
    item: int
    label: int = field(compare=False)
    predicted: int = field(compare=False)
    right_probability: float = field(compare=False)
    image: Pixels | None = field(compare=False)


@dataclass(frozen=True)
class TestPredictions:
    """The labels and the predicted classes of items. `total` is how many items there are."""

    __test__ = False  # no test of pytest's

    source: str
    total: int
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    mistakes: tuple[Mistake, ...]  # the surest first
    are_probabilities: bool  # whether the predictions of an item sum up to one


def predict_test_data(run: Run, weights: Path, items: int) -> TestPredictions | None:
    """What a model predicts for the first items of the data that its run tests on; None if it doesn't classify."""
    net = _first_test_net(run)
    if net is None:
        return None
    with _open_data(run, net, Phase.TEST) as (opened, feeds):
        built = build(connect(filter_layers(opened, opened.state)))
        prediction = next(class_predictions(built, measured=True), None)
        if prediction is None:
            return None
        subgraph = prediction_subgraph(opened, [prediction.labels])
        return _Tester(_device_here(run), subgraph, feeds, prediction, weights).test(items)


def _device_here(run: Run) -> torch.device:
    """The device of the run's first worker or, if this machine has none such, the CPU."""
    device = run.device(0)
    return device if device.type == "cpu" or torch.accelerator.is_available() else torch.device("cpu")


class _Tester:
    """Runs the part of a net that predicts on the batches of its data."""

    def __init__(
        self,
        device: torch.device,
        subgraph: PredictionSubgraph,
        feeds: Feeds,
        prediction: ClassPrediction,
        weights: Path,
    ) -> None:
        self._device, self._subgraph, self._feeds, self._prediction = device, subgraph, feeds, prediction
        self._module = NetModule(self._subgraph.built).allocate(self._device)
        fill_weights(self._subgraph.built, open_weights(weights, [self._subgraph.built]).weights)
        self._classes = class_names_of_model(weights)
        self._labels, self._predicted = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
        self._mistakes: list[Mistake] = []
        self._are_probabilities = True

    def test(self, items: int) -> TestPredictions:
        """Test on so many items, each once, unless it takes too long."""
        reading = next(iter(self._feeds.readings()), None)
        if reading is None:
            raise NetError("the data have no end, and no items that could be counted")
        total, done, began = len(reading.source), 0, time.monotonic()
        while done < min(items, total) and time.monotonic() - began < _LONGEST:
            labels, scores, images = self._next_batch()
            count = min(len(labels), min(items, total) - done)
            self._add_batch(labels[:count], scores[:count], images, done)
            done += count
        labels, predicted = (np.concatenate(parts) for parts in (self._labels, self._predicted))
        classes = classes_of(reading.source) or self._classes
        names = (*classes, *map(str, range(len(classes), self._prediction.classes)))
        mistakes = tuple(sorted(self._mistakes, reverse=True))
        return TestPredictions(reading.name, total, names, labels, predicted, mistakes, self._are_probabilities)

    def _next_batch(self) -> tuple[NDArray[np.int64], NDArray[np.float32], Tensor | None]:
        """The labels of the next batch, its scores by item and class, and its images if it has any."""
        batch = self._feeds.next()
        labels = batch[self._subgraph.outputs[self._prediction.labels]].reshape(-1).numpy().astype(np.int64)
        image = next((batch[edge] for edge in batch if is_image(tuple(batch[edge].shape[1:]))), None)
        inputs = {edge: batch[edge].to(self._device) for edge in self._subgraph.inputs}
        with torch.no_grad(), running(self._subgraph.built):
            tops = self._module.run(inputs)
        scores = tops[self._prediction_edge(self._subgraph)].float().cpu().numpy()
        return labels, scores.reshape(len(labels), -1), image

    def _prediction_edge(self, subgraph: PredictionSubgraph) -> int:
        if subgraph.prediction is None:
            raise NetError("the net predicts several things, of which none is the one")
        return subgraph.prediction

    def _add_batch(
        self, labels: NDArray[np.int64], scores: NDArray[np.float32], images: Tensor | None, first: int
    ) -> None:
        counted = (labels >= 0) & (labels < scores.shape[1])  # others, such as 255, say that an item doesn't count
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
        mistake = Mistake(probability, first + index, label, predicted, float(scores[index, label]), image)
        (heapq.heappush if len(self._mistakes) < _MOST_MISTAKES else heapq.heappushpop)(self._mistakes, mistake)


@dataclass(frozen=True)
class ClassScores:
    """How well a class is recognised. A share of nothing is None."""

    name: str
    items: int
    precision: float | None  # the share of the items taken for it that are of it
    recall: float | None  # the share of its items that are taken for it
    f1: float | None  # the harmonic mean of both


@dataclass(frozen=True)
class ConfusedPair:
    """How often items of one class were taken for another."""

    label: str
    predicted: str
    count: int
    share: float  # of the items of the class


@dataclass(frozen=True)
class Confusion:
    """Counts of items, by label in rows and by predicted class in columns."""

    classes: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: Sequence[str]) -> Confusion:
        """The confusion of some items."""
        return cls(tuple(classes), count_confusions(labels, predicted, len(classes)))

    @property
    def accuracy(self) -> float | None:
        """The share of items that are recognised."""
        return _share(int(np.trace(self.counts)), int(self.counts.sum()))

    def shares(self) -> list[list[float]]:
        """The parts of every row."""
        shares: list[list[float]] = (self.counts / np.maximum(1, self.counts.sum(1, keepdims=True))).tolist()
        return shares

    def scores(self) -> list[ClassScores]:
        """The scores of all classes that items are of or were taken for."""
        taken, there = self.counts.sum(0), self.counts.sum(1)
        indices: list[int] = np.flatnonzero(taken + there).tolist()
        return [self._scores_of_class(index, int(taken[index]), int(there[index])) for index in indices]

    def _scores_of_class(self, index: int, taken: int, there: int) -> ClassScores:
        right = int(self.counts[index, index])
        f1 = _share(2 * right, taken + there)
        return ClassScores(self.classes[index], there, _share(right, taken), _share(right, there), f1)

    def worst_pairs(self, most: int) -> list[ConfusedPair]:
        """The pairs of classes that are confused most often."""
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


def score_test_data(run: Run, weights: Path, items: int) -> tuple[ScoreTable, ...]:
    """The scores over the batches of a test, or over so many items if these are fewer; none if nothing is scored."""
    net = _first_test_net(run)
    if net is None:
        return ()
    compute = Compute(_device_here(run), loading=run.compute.loading)
    with (
        closing(ModuleNet(net, compute, values=run.tables.get(Phase.TEST))) as module_net,
        gather_scores(module_net.built) as scores,
    ):
        if not (scores.detections or scores.segmentations):
            return ()
        load_weights(weights, module_net.built)
        batches = min(run.solver.test_iter[0], math.ceil(items / max(1, module_net.batch_size)))
        end = time.monotonic() + _LONGEST_SCORING
        average_batches(module_net, batches, lambda: time.monotonic() > end)
        classes = next((opened.classes for opened in opened_data(module_net) if opened.classes), ())
    return score_tables(scores, classes or class_names_of_model(weights))
