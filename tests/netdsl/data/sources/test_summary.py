"""Sample items, with about the same number of every class."""

from __future__ import annotations

import numpy as np

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.source import Item
from netdsl.data.sources.summary import example_items, summarize


class Unlabeled:
    """Many items of one class, then a few of another. Only the items contain their labels."""

    def __len__(self) -> int:
        return 5000

    def fetch(self, index: int) -> int:
        return index

    def item(self, fetched: int) -> Item:
        return np.zeros(1, np.float32), np.array(fetched >= 4900, np.float32)

    def close(self) -> None:
        pass


def numbers(items: list[Item]) -> list[float]:
    return [item[0].item() for item in items]


def test_classes_take_turns_and_items_stay_in_their_order() -> None:
    source = ArraySource([(np.arange(8, dtype=np.float32), np.array([2, 2, 2, 0, 0, 1, 2, 1]))])
    assert numbers(example_items(source, 3)) == [0, 3, 5]
    assert numbers(example_items(source, 5)) == [0, 1, 3, 4, 5]
    assert numbers(example_items(source)) == list(range(8))


def test_without_labels_the_first_items_are_shown() -> None:
    assert numbers(example_items(ArraySource([(np.arange(9, dtype=np.float32),)]), 3)) == [0, 1, 2]


def test_classes_are_searched_in_the_whole_source() -> None:
    assert summarize(Unlabeled(), example_items(Unlabeled(), 10)).labels == {"0": 5, "1": 5}
    assert len(example_items(Unlabeled())) == 64
