"""CenterLoss with numbers that are easy to check by hand: two items of class 0, one of class 1, none of class 2."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError

X, LABELS = [[1.0, 2], [3, 0], [5, 5]], [0.0, 0, 1]
CENTERS = [[1.0, 0], [2, 5], [9, 9]]  # the distances are (0, 2), (2, 0), (3, 0)
SETTINGS = "center_loss_param { num_output: 3 center_filler { value: 1 } %s }"


def run(made, settings: str = "", dialect: str = "caffe-face"):
    layer = made("CenterLoss", SETTINGS % settings, (3, 2), (3,), dialect=dialect)
    layer.centers.data.copy_(torch.tensor(CENTERS))
    x = torch.tensor(X, requires_grad=True)
    loss = layer(x, torch.tensor(LABELS))
    (loss * 6).backward()
    return loss.item(), x.grad.tolist(), layer.centers.grad


def test_distances_are_squared_and_centers_move_by_counts(made):
    loss, x, centers = run(made)
    assert loss == pytest.approx((4 + 4 + 9) / 2 / 3)
    assert x == [[0, 4], [4, 0], [6, 0]]
    # independent of the loss weight: -(0, 2) - (2, 0) over 2 items plus one
    np.testing.assert_allclose(centers, [[-2 / 3, -2 / 3], [-3 / 2, 0], [0, 0]], rtol=1e-6)


def test_happynear_moves_centers_for_each_item(made):
    _, _, centers = run(made, dialect="happynear-ms")
    np.testing.assert_allclose(centers, [[-4 / 3, -4 / 3], [-3 / 2, 0], [0, 0]], rtol=1e-6)


def test_happynear_has_plain_distances(made):
    loss, x, centers = run(made, "distance_type: 'L1'", dialect="happynear")
    assert loss == pytest.approx((2 + 2 + 3) / 3)
    assert x == [[0, 2], [2, 0], [2, 0]]
    np.testing.assert_allclose(centers, [[-2 / 3, -2 / 3], [-1 / 2, 0], [0, 0]], rtol=1e-6)


def test_without_a_loss_weight_the_weight_is_zero(made):
    assert made("CenterLoss", SETTINGS % "", (3, 2), (3,)).loss_weights() == [0]
    assert made("CenterLoss", "loss_weight: 0.5 " + SETTINGS % "", (3, 2), (3,)).loss_weights() == [0.5]


def test_items_may_be_images(made):
    layer = made("CenterLoss", SETTINGS % "", (3, 2, 4, 5), (3, 1, 1, 1))
    assert layer.centers.shape == (3, 40)
    assert layer(torch.ones(3, 2, 4, 5), torch.zeros(3, 1, 1, 1)).item() == 0


def test_a_net_with_an_ambiguous_fork_gives_a_warning(made):
    assert made("CenterLoss", SETTINGS % "", (3, 2), (3,)).doubts
    assert not made("CenterLoss", SETTINGS % "", (3, 2), (3,), dialect="caffe-face").doubts


def test_data_that_do_not_fit_are_refused(made):
    with pytest.raises(NetError, match="distance_type is 'L3'"):
        made("CenterLoss", SETTINGS % "distance_type: 'L3'", (3, 2), (3,))
    with pytest.raises(NetError, match="num_output is missing"):
        made("CenterLoss", "", (3, 2), (3,))
    with pytest.raises(ShapeError, match="one label for each of 3 items"):
        made("CenterLoss", SETTINGS % "", (3, 2), (3, 2))
    with pytest.raises(ShapeError, match="leaves more than one vector"):
        made("CenterLoss", SETTINGS % "axis: 2", (3, 2, 4), (3,))
    layer = made("CenterLoss", SETTINGS % "", (3, 2), (3,))
    with pytest.raises(NetError, match="label 3 isn't among the 3 classes"):
        layer(torch.tensor(X), torch.tensor([0.0, 3, 1]))
