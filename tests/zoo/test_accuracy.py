"""Accuracies with intervals and baselines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zoo.accuracy import Baseline, MeasuredAccuracy, baselines_of, wilson_interval


def test_an_interval_is_wilsons() -> None:
    assert wilson_interval(0.55, 20) == pytest.approx((0.3421, 0.7418), abs=1e-4)
    assert wilson_interval(1.0, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson_interval(0.0, 0) == (0.0, 1.0)


def test_an_accuracy_of_few_items_is_shown_with_its_interval_and_advice() -> None:
    measured = MeasuredAccuracy.of(0.55, 20, [Baseline("the most frequent class", 0.4)], "--test-data")
    assert measured.lines == [
        "55% of 20 items: between 34% and 74% (95% interval of the accuracy)",
        "baseline 40.0%: the most frequent class",
        "next: the net may not be better than a plain baseline (the most frequent class); train it longer, or test on "
        "more items",
        "next: 20 items can't tell the accuracy well; about 390 would tell it to within 5 points, so test on more, "
        "with --test-data",
    ]


@pytest.mark.parametrize(
    ("accuracy", "baseline", "advice"),
    [
        (0.5, 0.6, "the net isn't better than a plain baseline"),
        (0.99, 0.99, "a plain baseline is about as accurate"),
        (0.9, 0.5, None),
    ],
)
def test_a_poor_accuracy_is_called_poor(accuracy: float, baseline: float, advice: str | None) -> None:
    measured = MeasuredAccuracy.of(accuracy, 1000, [Baseline("guessing", baseline)], "--data")
    assert [line.startswith(advice or "") for line in measured.advice] == ([True] if advice else [])


def test_baselines_are_the_most_frequent_class_and_a_linear_model_of_tiny_pixels() -> None:
    frequent, linear = baselines_of("digits:train", "digits:test")
    assert frequent == Baseline("the most frequent class, '3', for all items", pytest.approx(36 / 355))
    assert linear.name == "a linear model of 8 x 8 pixels" and 0.85 < linear.accuracy < 1


def test_data_that_cannot_be_opened_or_are_not_labeled_have_no_baselines(tmp_path: Path) -> None:
    assert baselines_of("lmdb:missing", "digits:test") == []
    np.savez(tmp_path / "numbers.npz", data=np.zeros((4, 3), np.float32))
    assert baselines_of(str(tmp_path / "numbers.npz"), str(tmp_path / "numbers.npz")) == []


def test_the_accuracy_of_folds_counts_every_item_once() -> None:
    linear = Baseline("a linear model", 0.5)
    folds = [
        MeasuredAccuracy.of(0.9, 10, [Baseline("the most frequent class, 'a'", 0.4), linear], "--data"),
        MeasuredAccuracy.of(0.6, 5, [Baseline("the most frequent class, 'b'", 0.1), linear], "--data"),
    ]
    measured = MeasuredAccuracy.of_folds(folds, "more --data")
    assert (measured.items, measured.folds, measured.spread) == (15, (0.9, 0.6), pytest.approx(0.15))
    assert measured.accuracy == 12 / 15 and (measured.lowest, measured.highest) == wilson_interval(0.8, 15)
    assert measured.lines[:4] == [
        "Cross-validation: 80% of 15 items, 2 folds, between 55% and 93% (95% interval of the accuracy)",
        "accuracy on each fold: 90.0%, 60.0%; their standard deviation is 15.0 points",
        "baseline 30.0%: the most frequent class of the other folds, for all items",
        "baseline 50.0%: a linear model",
    ]


def test_a_baseline_that_one_fold_lacks_is_left_out() -> None:
    frequent = Baseline("the most frequent class", 0.5)
    folds = [MeasuredAccuracy.of(1.0, 4, baselines, "--data") for baselines in ([frequent, frequent], [frequent])]
    assert MeasuredAccuracy.of_folds(folds, "more --data").baselines == (frequent,)
