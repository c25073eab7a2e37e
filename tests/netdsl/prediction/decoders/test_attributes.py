"""Attributes: groups of classes and numbers, in their own blobs or in parts of one."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of

OUTPUTS = {"fc": np.array([0.25, 2.0, 0.0, 1.0]), "ages": np.array([0.0, 0.5, 0.5])}


def groups(**described: dict) -> dict:
    return dict(decoder_of({"decoder": "attributes", "groups": described}).decode(OUTPUTS, (4, 4)).groups)


def test_parts_of_a_blob_are_numbers_and_classes() -> None:
    found = groups(
        age={"blob": "fc", "count": "1", "scale": "100"}, gender={"blob": "fc", "first": "2", "names": ["f", "m"]}
    )
    assert found["age"] == 25
    assert (found["gender"].scores.tolist(), found["gender"].names) == ([0, 1], ("f", "m"))


def test_scores_become_probabilities_on_request() -> None:
    scores = groups(gender={"blob": "fc", "first": "1", "count": "2", "softmax": "true"})["gender"].scores
    assert scores == pytest.approx([np.exp(2) / (1 + np.exp(2)), 1 / (1 + np.exp(2))])


def test_an_expected_age_is_the_mean_of_the_classes() -> None:
    assert groups(age={"blob": "ages", "expected": "true"}) == {"age": 1.5}


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({}, "output.groups: there are no attributes"),
        ({"age": {"blob": "fc", "first": "-1"}}, "output.groups.age: `first` and `count` can't be negative"),
        ({"age": {"blob": "gone"}}, "groups.age: the net has no output 'gone'; use one of fc, ages"),
        ({"age": {"blob": "fc", "first": "3", "count": "1000000000"}}, "groups.age: blob 'fc' has 4 values"),
        ({"age": {"blob": "ages", "names": ["a"]}}, "groups.age: there are 3 scores for 1 names"),
    ],
)
def test_wrong_groups_are_named(described, message) -> None:
    with pytest.raises(DecoderError) as problem:
        groups(**described)
    assert str(problem.value).startswith(message)
