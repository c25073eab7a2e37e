"""Texts: symbols by CTC's rule, one blob for each place, or numbers of symbols."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of

SYMBOLS = ["A", "B", "-"]


def text(blobs: dict[str, np.ndarray], **settings: object):
    output = {"decoder": "text", "names": SYMBOLS, "blobs": {"scores": list(blobs)}, **settings}
    return decoder_of(output).decode(blobs, (4, 4))


def scores(numbers: list[int]) -> np.ndarray:
    return np.eye(3)[numbers] * 0.9


def test_equal_neighbors_are_one_symbol_unless_a_blank_separates_them() -> None:
    read = text({"out": scores([2, 0, 0, 2, 0, 1, 1, 2])})
    assert str(read) == "AAB" and read.scores == (0.9, 0.9, 0.9)


@pytest.mark.parametrize("shape", [(5, 3), (5, 1, 3), (3, 5), (3, 1, 5)])
def test_the_axis_of_the_symbols_is_found_by_their_number(shape) -> None:
    values = scores([0, 2, 1, 1, 0])
    assert str(text({"out": (values if shape[-1] == 3 else values.T).reshape(shape)})) == "ABA"


def test_the_blank_can_be_the_first_symbol() -> None:
    assert str(text({"out": scores([0, 1, 1, 0, 2])}, blank="0")) == "B-"


def test_each_place_can_have_its_own_blob() -> None:
    blobs = {"first": scores([1])[0], "second": scores([1])[0], "third": scores([0])[0]}
    assert str(text(blobs, ctc="false")) == "BBA"


def test_numbers_of_symbols_end_at_a_negative_number() -> None:
    assert str(text({"out": np.array([1, 0, 0, -1, 1])}, indices="true")) == "BAA"


def test_a_softmax_turns_scores_into_probabilities() -> None:
    (score,) = text({"out": np.array([[1.0, 0, 0]] * 2 + [[0, 0, 5.0]] * 1)}, softmax="true", ctc="true").scores
    assert score == pytest.approx(np.exp(1) / (np.exp(1) + 2))


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        (np.ones((5, 4)), {}, "names: there are 3 symbols, but the scores have shapes (5, 4)"),
        (np.array([7]), {"indices": "true"}, "names: there are 3 symbols, but the net's output contains 7"),
        (np.ones((5, 3)), {"names": []}, "names: there are no symbols"),
    ],
)
def test_scores_of_other_symbols_are_refused(values, settings, message) -> None:
    with pytest.raises(DecoderError) as problem:
        text({"out": values}, **settings)
    assert str(problem.value).startswith(message)
