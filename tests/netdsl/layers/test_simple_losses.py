"""EuclideanLoss, L1Loss, HingeLoss and MultinomialLogisticLoss."""

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of


def make(kind, shapes, settings=""):
    return layer_of(kind, settings, *shapes)


def scores(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)


def test_euclidean_is_half_the_square_over_the_batch_and_goes_to_both_bottoms():
    x, y = scores(3, 4, 2), (scores(3, 8) + 1).detach().requires_grad_()
    loss = make("EuclideanLoss", ((3, 4, 2), (3, 8)))(x, y)
    loss.backward()
    difference = x.detach() - y.detach().reshape(3, 4, 2)
    torch.testing.assert_close(loss.detach(), difference.square().sum() / 6)
    torch.testing.assert_close(x.grad, difference / 3)
    torch.testing.assert_close(y.grad, -difference.reshape(3, 8) / 3)


def test_l1_is_the_distance_over_the_batch_and_goes_to_both_bottoms():
    x, y = scores(3, 4, 2), (scores(3, 8) * 2).detach().requires_grad_()
    loss = make("L1Loss", ((3, 4, 2), (3, 8)))(x, y)
    loss.backward()
    difference = x.detach() - y.detach().reshape(3, 4, 2)
    torch.testing.assert_close(loss.detach(), difference.abs().sum() / 3)
    torch.testing.assert_close(x.grad, difference.sign() / 3)
    torch.testing.assert_close(y.grad, -difference.reshape(3, 8).sign() / 3)


def test_flownets_other_l1_modes_are_refused():
    with pytest.raises(NetError, match="'l2_per_location' is a setting of a fork"):
        make("L1Loss", ((3, 4), (3, 4)), "l1_loss_param { l2_per_location: true }")


@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_hinge_loss_equals_its_formula(norm):
    x, labels = scores(3, 2, 2), torch.tensor([3.0, 0.0, 1.0])
    make("HingeLoss", ((3, 2, 2), (3,)), f"hinge_loss_param {{ norm: {norm} }}")(x, labels).backward()
    loss = make("HingeLoss", ((3, 2, 2), (3,)), f"hinge_loss_param {{ norm: {norm} }}")(x, labels)
    wanted, gradient = 0.0, np.zeros((3, 4))
    for n, k in np.ndindex(3, 4):
        sign = -1 if k == int(labels[n]) else 1
        margin = max(0.0, 1 + sign * x.detach().reshape(3, 4)[n, k].item())
        wanted += margin if norm == "L1" else margin**2
        gradient[n, k] = sign * (margin > 0) if norm == "L1" else 2 * sign * margin
    np.testing.assert_allclose(loss.item(), wanted / 3)
    np.testing.assert_allclose(x.grad.reshape(3, 4), gradient / 3)


def test_hinge_is_flat_at_the_margin():
    x = torch.tensor([[1.0, -1.0]], requires_grad=True)
    make("HingeLoss", ((1, 2), (1,)))(x, torch.zeros(1)).backward()
    assert not x.grad.any()


def test_multinomial_expects_probabilities():
    x = torch.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=torch.float64, requires_grad=True)
    loss = make("MultinomialLogisticLoss", ((2, 2), (2, 1)))(x, torch.tensor([[1.0], [0.0]]))
    loss.backward()
    assert loss.item() == pytest.approx(-(np.log(0.8) + np.log(0.5)) / 2)
    torch.testing.assert_close(x.grad, torch.tensor([[0, -0.5 / 0.8], [-1.0, 0]], dtype=torch.float64))


def test_multinomial_learns_from_a_probability_of_zero_as_from_1e_20():
    x = torch.tensor([[0.0, 1.0]], requires_grad=True)
    loss = make("MultinomialLogisticLoss", ((1, 2), (1,)))(x, torch.zeros(1))
    loss.backward()
    assert loss.item() == pytest.approx(-np.log(1e-20))
    torch.testing.assert_close(x.grad, torch.tensor([[-1e20, 0.0]]))


@pytest.mark.parametrize(
    ("kind", "shapes", "message"),
    [
        ("EuclideanLoss", ((3, 4), (3, 5)), "same number of values"),
        ("EuclideanLoss", ((3, 4), (4, 3)), "the batch, must have the same length"),
        ("HingeLoss", ((3, 4), (3, 4)), "one label for each of 3 items"),
        ("MultinomialLogisticLoss", ((3, 4), (3, 2)), "one label for each of 3 items"),
    ],
)
def test_problems_are_reported(kind, shapes, message):
    with pytest.raises(ShapeError, match=message):
        make(kind, shapes)
