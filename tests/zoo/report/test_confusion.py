"""Confusion of classes."""

from __future__ import annotations

import numpy as np
import pytest

from zoo.report.predictions import ClassScores, ConfusedPair, Confusion

CONFUSION = Confusion.of(
    np.array([0, 0, 0, 1, 1, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 0, 0, 0]), ["cat", "dog", "eel", "fox"]
)


def test_rows_are_labels_and_columns_what_they_were_taken_for() -> None:
    assert CONFUSION.counts.tolist() == [[2, 1, 0, 0], [2, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert CONFUSION.accuracy == 0.5
    assert CONFUSION.shares()[0] == pytest.approx([2 / 3, 1 / 3, 0, 0])


def test_scores_of_classes_that_there_are() -> None:
    cat, dog, eel = CONFUSION.scores()
    assert cat == ClassScores("cat", 3, 2 / 5, 2 / 3, 4 / 8)
    assert (dog.precision, dog.recall) == (2 / 3, 1 / 2)
    assert eel == ClassScores("eel", 1, None, 0.0, 0.0)  # nothing was taken for it


def test_pairs_that_are_confused_most() -> None:
    assert CONFUSION.worst_pairs(2) == [ConfusedPair("dog", "cat", 2, 0.5), ConfusedPair("cat", "dog", 1, 1 / 3)]
    assert len(CONFUSION.worst_pairs(100)) == 3


def test_no_items() -> None:
    nothing = Confusion.of(np.array([], np.int64), np.array([], np.int64), ["a", "b"])
    assert (nothing.accuracy, nothing.scores(), nothing.worst_pairs(3)) == (None, [], [])
