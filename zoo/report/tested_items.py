"""What a run's model predicts for the items that it is tested on: classes, confidences, and the worst mistakes."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.data.sources.class_names import class_names_of_model, classes_of
from netdsl.deploy.subgraph import PredictionSubgraph, prediction_subgraph
from netdsl.distributed.run import Run
from netdsl.errors import NetError
from netdsl.model import open_weights
from netdsl.net.build import build, running
from netdsl.net.graph import Phase, connect, filter_layers
from netdsl.net.module import NetModule
from netdsl.solver.opened_nets import ClassPrediction, class_predictions
from netdsl.weights.files import fill_weights
from zoo.report.pixels import Pixels, is_image, pixels_of
from zoo.report.stated_net import OpenNet, first_test_net, open_data

_LONGEST = 60.0  # seconds; then those items are enough that there are
_MOST_MISTAKES = 24  # that are shown


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
    net = first_test_net(run)
    if net is None:
        return None
    with open_data(run, net, Phase.TEST) as opened:
        built = build(connect(filter_layers(opened.net, opened.net.state)))
        prediction = next(class_predictions(built, measured=True), None)
        return None if prediction is None else _Tester(run, opened, prediction, weights).test(items)


class _Tester:
    """Runs the part of a net that predicts on the batches of its data."""

    def __init__(self, run: Run, opened: OpenNet, prediction: ClassPrediction, weights: Path) -> None:
        self._opened, self._prediction = opened, prediction
        self._subgraph = prediction_subgraph(opened.net, [prediction.labels])
        device = run.device(0)
        self._device = device if device.type == "cpu" or torch.accelerator.is_available() else torch.device("cpu")
        self._module = NetModule(self._subgraph.built).allocate(self._device)
        fill_weights(self._subgraph.built, open_weights(weights, [self._subgraph.built]).weights)
        self._classes = class_names_of_model(weights)
        self._labels, self._predicted = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
        self._mistakes: list[Mistake] = []
        self._are_probabilities = True

    def test(self, items: int) -> TestPredictions:
        """Test on so many items, each once, unless it takes too long."""
        reading = next(iter(self._opened.feeds.readings()), None)
        if reading is None:
            raise NetError("the data have no end, and no items that could be counted")
        total, done, began = len(reading.source), 0, time.monotonic()
        while done < min(items, total) and time.monotonic() - began < _LONGEST:
            labels, scores, images = self._batch()
            count = min(len(labels), min(items, total) - done)
            self._add(labels[:count], scores[:count], images, done)
            done += count
        labels, predicted = (np.concatenate(parts) for parts in (self._labels, self._predicted))
        classes = classes_of(reading.source) or self._classes
        names = (*classes, *map(str, range(len(classes), self._prediction.classes)))
        mistakes = tuple(sorted(self._mistakes, reverse=True))
        return TestPredictions(reading.name, total, names, labels, predicted, mistakes, self._are_probabilities)

    def _batch(self) -> tuple[NDArray[np.int64], NDArray[np.float32], Tensor | None]:
        """The labels of the next batch, its scores by item and class, and its images if it has any."""
        batch = self._opened.feeds.next()
        labels = batch[self._subgraph.outputs[self._prediction.labels]].reshape(-1).numpy().astype(np.int64)
        image = next((batch[edge] for edge in batch if is_image(tuple(batch[edge].shape[1:]))), None)
        inputs = {edge: batch[edge].to(self._device) for edge in self._subgraph.inputs}
        with torch.no_grad(), running(self._subgraph.built):
            tops = self._module.run(inputs)
        scores = tops[self._scores(self._subgraph)].float().cpu().numpy()
        return labels, scores.reshape(len(labels), -1), image

    def _scores(self, subgraph: PredictionSubgraph) -> int:
        if subgraph.prediction is None:
            raise NetError("the net predicts several things, of which none is the one")
        return subgraph.prediction

    def _add(self, labels: NDArray[np.int64], scores: NDArray[np.float32], images: Tensor | None, first: int) -> None:
        counted = (labels >= 0) & (labels < scores.shape[1])  # others, such as 255, say that an item doesn't count
        self._are_probabilities &= bool(np.allclose(scores.sum(1), 1, atol=1e-3) and scores.min() >= 0)
        predicted = scores.argmax(1)
        self._labels.append(labels[counted])
        self._predicted.append(predicted[counted])
        for index in np.flatnonzero(counted & (predicted != labels)):
            self._keep(int(index), labels, scores, images, first)

    def _keep(
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
