"""Held-out items: a random share of every class, which training leaves out and tests use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import open_source, parse_source
from netdsl.data.sources.source import DataSplit, LabelledSource, Source
from netdsl.data.sources.source_name import Content
from netdsl.data.sources.view import write_items
from netdsl.errors import DataError

TRAIN_ITEMS, TEST_ITEMS = "train_items.txt", "test_items.txt"  # names of files in a run's folder

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class LabelledData:
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
) -> LabelledData:
    """Divide a source, unless it contains a test part or `tests` names another source. The items' numbers are written
    to the folder."""
    name = parse_source(data, Content.ITEMS)
    train, own_tests = map(name.with_split, DataSplit)
    if tests is not None or train != own_tests:
        others = own_tests if tests is None else parse_source(tests, Content.ITEMS).with_split(DataSplit.TEST)
        return _data_of_two_sources(str(train), str(others), progress)
    with closing(name.open()) as source:
        labels = labels_of(source, data, progress)
        classes = classes_of(source) or _class_numbers(labels)
    train_items, test_items = draw(labels, share, seed)
    if not (len(train_items) and len(test_items)):
        raise DataError(
            f"{data}: there are only {len(labels)} items, too few to hold some out for tests; name test data "
            "with --test-data"
        )
    paths = [(folder / name).resolve() for name in (TRAIN_ITEMS, TEST_ITEMS)]
    for path, items in zip(paths, (train_items, test_items), strict=True):
        write_items(items.tolist(), path)
    names = [str(name.with_items(path)) for path in paths]
    return LabelledData(names[0], names[1], classes, len(train_items), len(test_items))


def _data_of_two_sources(train: str, tests: str, progress: Callable[[int], object]) -> LabelledData:
    """Return the data of two sources, whose labels mean the same."""
    with closing(open_source(train)) as source, closing(open_source(tests)) as other:
        classes = classes_of(source) or _class_numbers(labels_of(source, train, progress))
        return LabelledData(train, tests, classes, len(source), len(other))


def labels_of(source: Source, name: str, progress: Callable[[int], object]) -> Labels:
    """Return the label of every item. If only the items themselves contain labels, all items are read."""
    known = source.labels() if isinstance(source, LabelledSource) else None
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


def draw(labels: Labels, share: float, seed: int) -> tuple[Labels, Labels]:
    """Return the numbers of the training items and of the test items. The tests get a share of each class, and at least
    one item of each class with two or more."""
    random, held_out = np.random.default_rng(seed), np.zeros(len(labels), bool)
    for label in np.unique(labels):
        items = np.flatnonzero(labels == label)
        count = min(max(1, round(share * len(items))), len(items) - 1)
        held_out[random.permutation(items)[:count]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
