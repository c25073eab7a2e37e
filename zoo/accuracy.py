"""Accuracies with their intervals, compared with plain baselines, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from statistics import pstdev

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.source import EndlessSource, LabeledSource, LiveSource, Source
from netdsl.layer.tops import ComparesClasses
from netdsl.layers import type_of
from netdsl.linear_model import linear_model
from netdsl.net.build import Built
from netdsl.solver.events import NetCreated

_Z = 1.959964  # the normal distribution's deviation for 95%
_FEW = 100  # number of items below which the advice is to test on more
_WIDE = 0.1  # width of an interval, below which percentages have a decimal
_TOLERANCE = 0.05  # deviation of the accuracy that the advised number of items leaves
_EASY = 0.98  # an accuracy of a baseline that shows that the items are easy
_SIDE = 8  # side of the linear model's images in pixels
_MOST_ITEMS = 500  # maximum number of items that the linear model learns from or is tested on

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Baseline:
    """A plain way to predict, and its accuracy."""

    name: str
    accuracy: float


@dataclass(frozen=True)
class MeasuredAccuracy:
    """An accuracy on test items: its 95% interval, the accuracies of baselines, and advice.

    After a cross-validation, it is the accuracy on the items of all folds. `folds` contains the accuracy on each fold,
    and `spread` their standard deviation.
    """

    accuracy: float
    items: int
    lowest: float
    highest: float
    baselines: tuple[Baseline, ...] = ()
    advice: tuple[str, ...] = ()
    folds: tuple[float, ...] = ()
    spread: float | None = None

    @classmethod
    def of(cls, accuracy: float, items: int, baselines: Sequence[Baseline], more_items: str) -> MeasuredAccuracy:
        """Return an accuracy on a number of items with its interval and advice. `more_items` is the option that names
        more test data."""
        lowest, highest = wilson_interval(accuracy, items)
        advice = _advice(accuracy, items, lowest, baselines, more_items)
        return cls(accuracy, items, lowest, highest, tuple(baselines), tuple(advice))

    @classmethod
    def of_folds(cls, folds: Sequence[MeasuredAccuracy], more_items: str) -> MeasuredAccuracy:
        """Return the accuracy of a cross-validation, in which each item was tested in one fold."""
        counts = [fold.items for fold in folds]
        right, items = sum(round(fold.accuracy * fold.items) for fold in folds), sum(counts)
        baselines = [
            Baseline(_name_for_folds(kind), float(np.average([each.accuracy for each in kind], weights=counts)))
            for kind in zip(*(fold.baselines for fold in folds), strict=False)  # a slow fold has no linear model
        ]
        accuracies = tuple(fold.accuracy for fold in folds)
        measured = cls.of(right / items, items, baselines, more_items)
        return replace(measured, folds=accuracies, spread=pstdev(accuracies))

    @property
    def sentence(self) -> str:
        """The accuracy in words, such as `55% of 20 items: between 34% and 74%`, or `Cross-validation: 55% of 20 items,
        5 folds, between 34% and 74%`."""
        digits = 1 if self.highest - self.lowest < _WIDE else 0
        value, lowest, highest = (f"{100 * share:.{digits}f}%" for share in (self.accuracy, self.lowest, self.highest))
        beginning, folds = ("Cross-validation: ", f", {len(self.folds)} folds,") if self.folds else ("", ":")
        items = f"{self.items:,} item{'' if self.items == 1 else 's'}"
        return f"{beginning}{value} of {items}{folds} between {lowest} and {highest}"

    @property
    def scores_of_folds(self) -> str:
        """The accuracies on the folds and their spread in words. The text is empty without folds."""
        if self.spread is None:
            return ""
        scores = ", ".join(f"{accuracy:.1%}" for accuracy in self.folds)
        return f"{scores}; their standard deviation is {100 * self.spread:.1f} points"

    @property
    def meaning_of_folds(self) -> str:
        """The meaning of the accuracy of a cross-validation, in words. The text is empty without folds."""
        if not self.folds:
            return ""
        return (
            "Each item was tested once, by a model that was trained without its fold. So these numbers belong to the "
            "way of training, not to the model that is kept, which was trained in the same way on the items of all "
            "folds."
        )

    @property
    def lines(self) -> list[str]:
        """The accuracy, its baselines and the advice, one per line."""
        compared = [f"baseline {each.accuracy:.1%}: {each.name}" for each in self.baselines]
        return [
            f"{self.sentence} (95% interval of the accuracy)",
            *([f"accuracy on each fold: {self.scores_of_folds}"] if self.folds else ()),
            *compared,
            *(f"next: {each}" for each in self.advice),
        ]


def _name_for_folds(baselines: Sequence[Baseline]) -> str:
    """Return the name of a baseline of several folds, whose most frequent classes can differ."""
    names = {each.name for each in baselines}
    return names.pop() if len(names) == 1 else "the most frequent class of the other folds, for all items"


def wilson_interval(share: float, items: int) -> tuple[float, float]:
    """Return the 95% interval of a share by Wilson's formula, which also suits few items and shares near 0 and 1."""
    if not items:
        return 0.0, 1.0
    spread = _Z**2 / items
    center = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / items + spread / (4 * items))
    return max(0.0, center - half), min(1.0, center + half)


def _advice(
    accuracy: float, items: int, lowest: float, baselines: Sequence[Baseline], more_items: str
) -> Iterator[str]:
    best = max(baselines, key=lambda each: each.accuracy, default=None)
    if best is not None and accuracy >= _EASY <= best.accuracy:
        yield f"a plain baseline is about as accurate ({best.name}), so test on harder items to see the net's worth"
    elif best is not None and accuracy <= best.accuracy:
        yield (
            f"the net isn't better than a plain baseline ({best.name}); train it longer, on more items or from another "
            "model, and check its input and the order of its labels"
        )
    elif best is not None and lowest <= best.accuracy:
        yield f"the net may not be better than a plain baseline ({best.name}); train it longer, or test on more items"
    if items < _FEW:
        share = min(max(accuracy, 0.1), 0.9)
        enough = math.ceil(share * (1 - share) * (_Z / _TOLERANCE) ** 2 / 10) * 10
        yield (
            f"{items} item{'' if items == 1 else 's'} can't tell the accuracy well; about {enough} would tell it to "
            f"within 5 points, so test on more, with {more_items}"
        )


@dataclass
class CountedAnswers:
    """The numbers of correct answers of a net about test items, and of the items' labels. Answers beyond `most` repeat
    earlier items, so they don't count."""

    most: int | None = None
    items: int = 0
    right: int = 0
    labels: Labels | None = None
    ignored: frozenset[int] = frozenset()

    def record(self, layer: nn.Module, bottoms: tuple[Tensor, ...], top: object) -> None:
        """Count a batch. Caffe's rule: an answer is right if no other class scores as high."""
        scores, labels = (bottom.detach().cpu() for bottom in bottoms[:2])
        scores, labels = scores.reshape(len(scores), -1), labels.reshape(-1).long()
        if self.most is not None:
            scores, labels = (each[: self.most - self.items] for each in (scores, labels))
        self.items += len(labels)
        counted = (labels >= 0) & (labels < scores.shape[1])
        for label in self.ignored:
            counted &= labels != label
        scores, labels = scores[counted], labels[counted]
        self.right += int(((scores >= scores.gather(1, labels[:, None])).sum(1) == 1).sum())
        counts = np.bincount(labels.numpy(), minlength=scores.shape[1])
        self.labels = counts if self.labels is None else self.labels + counts

    def measured(self, names: Sequence[str], more_items: str) -> MeasuredAccuracy | None:
        """Return the accuracy, or `None` if no item had a label."""
        if self.labels is None or not (count := int(self.labels.sum())):
            return None
        most_frequent = most_frequent_class(self.labels, self.labels, names)
        return MeasuredAccuracy.of(self.right / count, count, [most_frequent], more_items)


@contextmanager
def count_answers(built: Built, most: int | None = None) -> Iterator[CountedAnswers]:
    """Count the answers of a net that classifies items, while it is tested. The net's losses and accuracies compare
    them with the labels."""
    layers = (layer for node, layer in built.pairs() if _compares_items(built, node.bottoms, layer))
    layer = next(layers, None)
    if not isinstance(layer, ComparesClasses):
        yield CountedAnswers(most)
        return
    counted = CountedAnswers(most, ignored=frozenset(layer.ignored_labels()))
    hook = layer.register_forward_hook(counted.record)
    try:
        yield counted
    finally:
        hook.remove()


def _compares_items(built: Built, bottoms: Sequence[int], layer: nn.Module) -> bool:
    """Return whether a layer compares several scores of each item with one label."""
    if not isinstance(layer, ComparesClasses):
        return False
    scores, labels = (built.shapes[edge] for edge in bottoms[:2])
    is_vector = len(scores) > 1 and layer.axis == 1 and scores[1] > 1 and math.prod(scores[2:]) == 1
    return is_vector and math.prod(labels) == scores[0]


@dataclass(frozen=True)
class TestedAccuracy:
    """The blob of a test net that contains its accuracy, and the number of items in a batch."""

    __test__ = False  # keeps pytest from collecting the class

    blob: str
    batch: int

    @classmethod
    def of(cls, net: pb.NetParameter, created: NetCreated) -> TestedAccuracy | None:
        """Return the first top-1 accuracy of a net that classifies items, or `None`."""
        shapes = {top: shape for layer in created.layers for top, shape in zip(layer.tops, layer.shapes, strict=True)}
        messages = {layer.name: layer for layer in net.layer}
        for layer in created.layers:
            message = messages.get(layer.name)
            kind = None if message is None else type_of(message)
            if message is None or kind is None or not issubclass(kind, ComparesClasses) or any(layer.loss_weights):
                continue
            scores, labels = (shapes.get(bottom, ()) for bottom in layer.bottoms[:2])
            is_output = layer.tops[0] in created.outputs and message.accuracy_param.top_k == 1
            if is_output and len(scores) > 1 and math.prod(scores[2:]) == 1 and math.prod(labels) == scores[0]:
                return cls(layer.tops[0], scores[0])
        return None


def most_frequent_class(trained: Labels, tested: Labels, names: Sequence[str]) -> Baseline:
    """Return the baseline that always answers the most frequent class of the training items. Both arguments contain
    the number of items of each class."""
    label = int(trained.argmax())
    name = names[label] if label < len(names) else str(label)
    tests = int(tested[label]) if label < len(tested) else 0
    return Baseline(f"the most frequent class, '{name}', for all items", tests / max(1, int(tested.sum())))


def baselines_of(train: str, tests: str) -> list[Baseline]:
    """Return the accuracies of plain baselines on the test items: the most frequent class and, for images, a linear
    model of tiny pixels. The list is empty if the data can't be opened here or have no labels."""
    try:
        with closing(open_source(train)) as trained, closing(open_source(tests)) as tested:
            return _baselines(trained, tested)
    except CaffeError:
        return []


def _baselines(trained: Source, tested: Source) -> list[Baseline]:
    if any(isinstance(source, (EndlessSource, LiveSource)) or not len(source) for source in (trained, tested)):
        return []
    samples = [_sample_of(source) for source in (trained, tested)]
    train_labels, test_labels = (_labels_of(*pair) for pair in zip((trained, tested), samples, strict=True))
    if train_labels is None or test_labels is None:
        return []
    frequent = most_frequent_class(np.bincount(train_labels), np.bincount(test_labels), classes_of(trained))
    train, test = samples
    if train is None or test is None:
        return [frequent]
    return [frequent, Baseline(f"a linear model of {_SIDE} x {_SIDE} pixels", _linear_accuracy(train, test))]


@dataclass(frozen=True)
class _TinyImages:
    """Images of a source in a few pixels, with a row for each, and their labels."""

    pixels: NDArray[np.float64]
    labels: Labels


def _labels_of(source: Source, sample: _TinyImages | None) -> Labels | None:
    """Return the labels of all items, or those of the sample if the source can't state them."""
    known = source.labels() if isinstance(source, LabeledSource) else None
    if known is None:
        return None if sample is None else sample.labels
    labels = np.asarray(known).reshape(-1)
    return labels.astype(np.int64) if np.array_equal(labels, labels.astype(np.int64)) and labels.min() >= 0 else None


def _sample_of(source: Source) -> _TinyImages | None:
    """Return evenly spread items of a source, or `None` if they aren't labeled images."""
    pixels, labels = list[NDArray[np.float64]](), list[float]()
    for index in np.unique(np.linspace(0, len(source) - 1, _MOST_ITEMS).round().astype(int)).tolist():
        item = source.item(source.fetch(index))
        is_image = len(item) == 2 and item[0].ndim == 3 and item[0].shape[0] in (1, 3) and item[1].size == 1
        if not is_image or item[1].item() != int(item[1].item()) or item[1].item() < 0:
            return None
        image = torch.from_numpy(np.asarray(item[0], np.float32)).expand(3, -1, -1)
        pixels.append(nn.functional.adaptive_avg_pool2d(image, _SIDE).double().numpy().reshape(-1))
        labels.append(item[1].item())
    return _TinyImages(np.stack(pixels), np.array(labels, np.int64))


def _linear_accuracy(train: _TinyImages, test: _TinyImages) -> float:
    """Return the accuracy on the test images of a linear model that is fitted to the training images."""
    model = linear_model(train.pixels, train.labels, int(train.labels.max()) + 1)
    return float((model.scores(test.pixels).argmax(1) == test.labels).mean())
