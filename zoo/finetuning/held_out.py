"""Divides labeled items, class by class: into training items and a held-out share for tests, or into folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import open_source, parse_source
from netdsl.data.sources.source import DataSplit, LabeledSource, Source
from netdsl.data.sources.source_name import Content, SourceName
from netdsl.data.sources.view import numbers_of, write_items
from netdsl.errors import DataError

TRAIN_ITEMS, TEST_ITEMS = "train_items.txt", "test_items.txt"  # names of files in a run's folder

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class LabeledData:
    """A data set for classification: its classes, and the numbers of training and test items."""

    train: str  # names of data sources
    tests: str
    classes: tuple[str, ...]
    train_count: int
    test_count: int


def hold_out(
    data: str,
    tests: str | None,
    share: float,
    seed: int,
    folder: Path,
    progress: Callable[[int], object] = lambda done: None,
) -> LabeledData:
    """Divide a source, unless it contains a test part or `tests` names another source. The items' numbers are written
    to the folder."""
    name = parse_source(data, Content.ITEMS)
    train, own_tests = map(name.with_split, DataSplit)
    if tests is not None or train != own_tests:
        others = own_tests if tests is None else parse_source(tests, Content.ITEMS).with_split(DataSplit.TEST)
        return _data_of_two_sources(str(train), str(others), progress)
    labels, numbers, classes = _opened(name, data, progress)
    train_items, test_items = draw(labels, share, seed)
    if not (len(train_items) and len(test_items)):
        raise DataError(
            f"{data}: there are only {len(labels)} items, too few to hold some out for tests; name test data "
            "with --test-data"
        )
    paths = [(folder / name).resolve() for name in (TRAIN_ITEMS, TEST_ITEMS)]
    for path, items in zip(paths, (train_items, test_items), strict=True):
        write_items(numbers[items].tolist(), path)
    names = [str(name.with_items(path)) for path in paths]
    return LabeledData(names[0], names[1], classes, len(train_items), len(test_items))


def _data_of_two_sources(train: str, tests: str, progress: Callable[[int], object]) -> LabeledData:
    """Return the data of two sources, whose labels mean the same."""
    with closing(open_source(train)) as source, closing(open_source(tests)) as other:
        classes = classes_of(source) or _class_numbers(labels_of(source, train, progress))
        return LabeledData(train, tests, classes, len(source), len(other))


def labels_of(source: Source, name: str, progress: Callable[[int], object]) -> Labels:
    """Return the label of every item. If only the items themselves contain labels, all items are read."""
    known = source.labels() if isinstance(source, LabeledSource) else None
    labels = np.asarray(known, np.float64) if known is not None else _read_labels(source, name, progress)
    whole = labels.astype(np.int64)
    if not np.array_equal(whole, labels) or whole.min(initial=0) < 0:
        raise DataError(
            f"{name}: the labels aren't class numbers from 0; number the classes from 0, or name a folder with a "
            "folder of images for each class"
        )
    return whole


def _read_labels(source: Source, name: str, progress: Callable[[int], object]) -> NDArray[np.float64]:
    labels = np.empty(len(source))
    for index in range(len(source)):
        item = source.item(source.fetch(index))
        if len(item) < 2 or item[1].size != 1:
            raise DataError(
                f"{name}: item {index} doesn't have a single number as its label; name data with one class for "
                "each item, such as folder:PATH"
            )
        labels[index] = item[1].item()
        progress(1)
    return labels


def _class_numbers(labels: Labels) -> tuple[str, ...]:
    """Return the numbers of the classes as names, for classes without names."""
    return tuple(map(str, range(int(labels.max(initial=-1)) + 1)))


def _opened(name: SourceName, data: str, progress: Callable[[int], object]) -> tuple[Labels, Labels, tuple[str, ...]]:
    """Return the labels of a source's items, their numbers in the whole data set, and the names of the classes."""
    with closing(name.open()) as source:
        labels = labels_of(source, data, progress)
        return labels, numbers_of(source), classes_of(source) or _class_numbers(labels)


def draw(labels: Labels, share: float, seed: int) -> tuple[Labels, Labels]:
    """Return the numbers of the training items and of the test items. The tests get a share of each class, and at least
    one item of each class with two or more."""
    random, held_out = np.random.default_rng(seed), np.zeros(len(labels), bool)
    for label in np.unique(labels):
        items = np.flatnonzero(labels == label)
        count = min(max(1, round(share * len(items))), len(items) - 1)
        held_out[random.permutation(items)[:count]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def divide(
    data: str, paths: Sequence[tuple[Path, Path]], seed: int, progress: Callable[[int], object] = lambda done: None
) -> None:
    """Divide a source into folds, which have equal parts of each class. Each fold has two paths, to which the numbers
    of all other items and of its own are written."""
    name, folds = parse_source(data, Content.ITEMS), len(paths)
    train, tests = map(name.with_split, DataSplit)
    if train != tests:
        raise DataError(
            f"{data}: the data set has its own test part, and all models should be compared on it; leave out --folds, "
            f"or name the part to divide, as in --data {train}"
        )
    labels, numbers, classes = _opened(name, data, progress)
    present, counts = np.unique(labels, return_counts=True)
    fewest = int(counts.min())
    if fewest < folds:
        label = int(present[counts.argmin()])
        smallest = classes[label] if label < len(classes) else label
        raise DataError(
            f"{data}: class '{smallest}' has {fewest} item{'' if fewest == 1 else 's'}, too few for {folds} folds; "
            + (f"give --folds {fewest}" if fewest > 1 else "add items of this class, or remove it")
        )
    fold_of_item = draw_folds(labels, folds, seed)
    for fold, (others, own) in enumerate(paths):
        write_items(numbers[fold_of_item != fold].tolist(), others)
        write_items(numbers[fold_of_item == fold].tolist(), own)


def draw_folds(labels: Labels, folds: int, seed: int) -> Labels:
    """Return the fold of each item. The numbers of items in two folds differ by at most one, and so do those of each
    class."""
    random = np.random.default_rng(seed)
    by_class = [random.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    fold_of_item = np.empty(len(labels), np.int64)
    fold_of_item[np.concatenate(by_class)] = np.arange(len(labels)) % folds
    return fold_of_item
