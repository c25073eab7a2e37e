"""Accuracy and ArgMax compared with plain loops, with equal values among the scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers import LAYERS


def scores(*shape: int) -> torch.Tensor:
    """Return scores with few different values, so that many are equal."""
    return torch.tensor(np.random.default_rng(0).integers(0, 4, shape), dtype=torch.float32)


def plain_accuracy(x: np.ndarray, labels: np.ndarray, top_k: int, ignored: int | None) -> tuple[float, list[float]]:
    """Compute the accuracy over rows of scores."""
    hits, cases = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for row, label in zip(x, labels, strict=True):
        if label != ignored:
            as_good = sum(score >= row[label] for place, score in enumerate(row) if place != label)
            hits[label] += as_good < top_k
            cases[label] += 1
    return hits.sum() / cases.sum(), [hit / case if case else 0 for hit, case in zip(hits, cases, strict=True)]


@pytest.mark.parametrize("ignored", [None, 2, -1])
@pytest.mark.parametrize("top_k", [1, 3])
@pytest.mark.parametrize(("shape", "axis"), [((20, 6), 1), ((2, 6, 3, 5), 1), ((2, 3, 5, 6), -1)])
def test_accuracy_is_the_share_of_right_predictions(made, shape, axis, top_k, ignored):
    x = scores(*shape)
    rows = x.movedim(axis, -1).reshape(-1, 6).numpy()
    labels = np.random.default_rng(1).integers(0, 5, len(rows))  # no item of the last class
    if ignored == -1:
        labels[::3] = -1
    ignore = "" if ignored is None else f"ignore_label: {ignored}"
    settings = f"accuracy_param {{ axis: {axis} top_k: {top_k} {ignore} }}"
    layer = made("Accuracy", settings, shape, (len(rows),), tops=2)
    accuracy, by_class = layer(x, torch.tensor(labels, dtype=torch.float32))
    expected, expected_by_class = plain_accuracy(rows, labels, top_k, ignored)
    assert accuracy.shape == ()
    assert accuracy.item() == pytest.approx(expected)
    assert by_class.tolist() == pytest.approx(expected_by_class)


def test_the_accuracy_of_no_items_is_zero(made):
    layer = made("Accuracy", "accuracy_param { ignore_label: 1 }", (2, 3), (2,))
    assert layer(scores(2, 3), torch.ones(2)).item() == 0


@pytest.mark.parametrize(
    ("settings", "shapes", "message"),
    [
        ("", [(4, 3), (4, 3)], "12 labels for 4 predictions of 3 classes along axis 1"),
        ("top_k: 4", [(4, 3), (4,)], "top_k 4 is more than the 3 classes"),
        ("axis: 2", [(4, 3), (4,)], "axis 2 doesn't exist"),
        ("denominator: 2", [(4, 3), (4,)], "'denominator' is a setting of a fork"),
    ],
)
def test_wrong_settings_of_accuracy_are_refused(made, settings, shapes, message):
    with pytest.raises(NetError, match=message):
        made("Accuracy", f"accuracy_param {{ {settings} }}", *shapes)


def test_shapes_are_checked_when_the_net_is_reshaped(made):
    layer = made("Accuracy", "", (4, 3), (4,), tops=2)
    assert layer.top_shapes([(5, 3), (5, 1)]) == [(), (3,)]
    with pytest.raises(ShapeError, match="4 labels for 5 predictions"):
        layer.top_shapes([(5, 3), (4,)])


def plain_best(row: np.ndarray, top_k: int) -> list[tuple[float, int]]:
    return sorted(((value, place) for place, value in enumerate(row)), reverse=True)[:top_k]


@pytest.mark.parametrize("top_k", [1, 3])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_arg_max_works_along_an_axis(made, axis, top_k):
    x = scores(4, 5, 6)
    for setting, part in (("", 1), ("out_max_val: true", 0)):
        layer = made("ArgMax", f"argmax_param {{ axis: {axis} top_k: {top_k} {setting} }}", x.shape)
        top = layer(x).movedim(axis, -1).reshape(-1, top_k).tolist()
        rows = x.movedim(axis, -1).reshape(-1, x.shape[axis]).numpy()
        assert top == [[pair[part] for pair in plain_best(row, top_k)] for row in rows]


@pytest.mark.parametrize(
    ("shape", "indices", "both"),
    [
        ((4,), (4, 1, 1), (4, 2, 1)),
        ((4, 6), (4, 1, 3), (4, 2, 3)),
        ((4, 2, 3), (4, 1, 3), (4, 2, 3)),
        ((4, 2, 3, 2), (4, 1, 3, 1), (4, 2, 3, 1)),
        ((4, 2, 3, 2, 2), (4, 1, 3, 1, 1), (4, 2, 3, 1, 1)),
    ],
)
def test_arg_max_works_on_whole_items(made, shape, indices, both):
    x = scores(*shape)
    top_k = indices[2]
    best = [plain_best(item, top_k) for item in x.reshape(4, -1).numpy()]
    top = made("ArgMax", f"argmax_param {{ top_k: {top_k} }}", shape)(x)
    assert top.shape == indices
    assert top.reshape(4, top_k).tolist() == [[place for _, place in each] for each in best]
    top = made("ArgMax", f"argmax_param {{ top_k: {top_k} out_max_val: true }}", shape)(x)
    assert top.shape == both
    expected = [[[place for _, place in each], [value for value, _ in each]] for each in best]
    assert top.reshape(4, 2, top_k).tolist() == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("top_k: 0", "top_k is 0; set it to 1 or more"),
        ("top_k: 7", "top_k 7 is more than the 6 values"),
        ("top_k: 4 axis: 2", "top_k 4 is more than the 3 values"),
        ("axis: 3", "axis 3 doesn't exist"),
        ("min_first: true", "'min_first' is a setting of a fork"),
    ],
)
def test_wrong_settings_of_arg_max_are_refused(made, settings, message):
    with pytest.raises(NetError, match=message):
        made("ArgMax", f"argmax_param {{ {settings} }}", (4, 2, 3))


def test_accuracy_and_arg_max_have_no_gradient():
    assert LAYERS["Accuracy"].no_gradient == (0, 1)
    assert LAYERS["ArgMax"].no_gradient == (0,)
