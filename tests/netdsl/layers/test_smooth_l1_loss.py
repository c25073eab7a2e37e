"""SmoothL1Loss and R-FCN's SmoothL1LossOHEM compared with plain loops, with Caffe's gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError

SHAPE = (2, 3, 4, 5)


def bottoms(count: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.normal(0, 1.5, SHAPE)) for _ in range(count)]


def loss_of(d: float, sigma: float) -> float:
    return 0.5 * (sigma * d) ** 2 if abs(d) < 1 / sigma**2 else abs(d) - 0.5 / sigma**2


def slope_of(d: float, sigma: float) -> float:
    return d * sigma**2 if abs(d) < 1 / sigma**2 else (d > 0) - (d < 0)


@pytest.mark.parametrize("sigma", [1, 3])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_loss_and_gradient_equal_those_of_loops(made, count, sigma):
    given = bottoms(count)
    layer = made("SmoothL1Loss", f"smooth_l1_loss_param {{ sigma: {sigma} }}", *[SHAPE] * count)
    leaves = [each.clone().requires_grad_() for each in given[:2]]
    loss = layer(*leaves, *given[2:])
    loss.backward()
    expected, slopes = 0.0, np.zeros(SHAPE)
    for index in np.ndindex(SHAPE):
        x, target, inside, outside = [each[index].item() for each in given] + [1.0] * (4 - count)
        expected += outside * loss_of(inside * (x - target), sigma)
        # Caffe's gradient includes the inside weight only if there is an outside weight.
        slopes[index] = slope_of(inside * (x - target), sigma) * outside * (inside if count == 4 else 1)
    assert loss.item() == pytest.approx(expected / 2)
    np.testing.assert_allclose(leaves[0].grad, slopes / 2)
    np.testing.assert_allclose(leaves[1].grad, -slopes / 2)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_second_top_has_the_loss_of_every_region(made, count):
    x, target, *weights = bottoms(count)
    loss, each = made("SmoothL1Loss", "", *[SHAPE] * count, tops=2)(x.requires_grad_(), target, *weights)
    expected = np.zeros((2, 1, 4, 5))
    for n, c, h, w in np.ndindex(SHAPE):
        inside, outside = [weight[n, c, h, w].item() for weight in weights] + [1.0] * (4 - count)
        expected[n, 0, h, w] += outside * loss_of(inside * (x - target)[n, c, h, w].item(), 1)
    np.testing.assert_allclose(each, expected)
    assert not each.requires_grad
    assert loss.item() == pytest.approx(expected.sum() / 2)


@pytest.mark.parametrize(
    ("settings", "divisor"),
    [("", 40), ("normalization: BATCH_SIZE", 2), ("normalization: PRE_FIXED pre_fixed_normalizer: 128", 128)],
)
def test_the_loss_of_every_region_is_returned(made, settings, divisor):
    x, target, inside = bottoms(3)
    leaf = x.clone().requires_grad_()
    layer = made("SmoothL1LossOHEM", f"loss_param {{ {settings} }}", *[SHAPE] * 3, tops=2)
    loss, each = layer(leaf, target, inside)
    loss.backward()
    expected, slopes = np.zeros((2, 1, 4, 5)), np.zeros(SHAPE)
    for n, c, h, w in np.ndindex(SHAPE):
        d = (inside * (x - target))[n, c, h, w].item()
        expected[n, 0, h, w] += loss_of(d, 1)
        slopes[n, c, h, w] = slope_of(d, 1)
    np.testing.assert_allclose(each, expected)
    assert loss.item() == pytest.approx(expected.sum() / divisor)
    np.testing.assert_allclose(leaf.grad, slopes / divisor)


def test_regions_without_height_and_width_have_them_in_the_top(made):
    layer = made("SmoothL1LossOHEM", "", (6, 8), (6, 8), tops=2)
    assert layer.top_shapes([(6, 8), (6, 8)]) == [(), (6, 1, 1, 1)]


def test_missing_axes_are_one_long(made):
    layer = made("SmoothL1Loss", "", (6, 8, 1, 1), (6, 8))
    assert layer(torch.ones(6, 8, 1, 1), torch.zeros(6, 8)).item() == 4


def test_data_that_do_not_fit_are_refused(made):
    with pytest.raises(NetError, match="sigma"):
        made("SmoothL1Loss", "smooth_l1_loss_param { sigma: 0 }", SHAPE, SHAPE)
    with pytest.raises(ShapeError, match=r"\[2, 3, 4, 5\] and \[2, 3, 5, 4\]"):
        made("SmoothL1Loss", "", SHAPE, (2, 3, 5, 4))
    with pytest.raises(ShapeError, match="same shape"):
        made("SmoothL1LossOHEM", "", SHAPE, SHAPE, (2, 3, 4, 1))


WEIGHTLESS = ["fast-rcnn", "faster-rcnn", "rfcn", "pvanet", "intel", "tsn", "happynear", "happynear-ms"]


@pytest.mark.parametrize("dialect", [*WEIGHTLESS, "ssd", "synopsys", "mobilenet-yolo", "bvlc"])
def test_a_loss_without_a_loss_weight_has_the_forks_default(made, dialect):
    layer = made("SmoothL1Loss", "", (2, 3), (2, 3), dialect=dialect)
    assert layer.loss_weights() == [0 if dialect in WEIGHTLESS else 1]
    assert not layer.doubts


def test_an_explicit_weight_counts_in_every_fork(made):
    layer = made("SmoothL1Loss", "loss_weight: 2", (2, 3), (2, 3), dialect="intel")
    assert layer.loss_weights() == [2]


def test_a_net_with_an_ambiguous_fork_gives_a_warning_about_the_weight(made):
    layer = made("SmoothL1Loss", "", (2, 3), (2, 3))
    assert layer.loss_weights() == [1]
    assert "it is 0" in layer.doubts[0].sentence
    assert not made("SmoothL1Loss", "loss_weight: 1", (2, 3), (2, 3)).doubts


def test_ohem_has_no_weight_without_a_loss_weight(made):
    assert made("SmoothL1LossOHEM", "", (2, 3), (2, 3), tops=2).loss_weights() == [0, 0]
    assert made("SmoothL1LossOHEM", "loss_weight: 1 loss_weight: 0", (2, 3), (2, 3), tops=2).loss_weights() == [1, 0]


@pytest.mark.parametrize(("dialect", "loss"), [("intel", 5.0), ("faster-rcnn", 2.5), ("ssd", 2.5)])
def test_intel_does_not_divide_if_normalization_is_none(made, dialect, loss):
    x, target = torch.tensor([[2.5], [0]]), torch.tensor([[0.0], [3.5]])  # losses of 2 and 3
    settings = "loss_weight: 1 loss_param { normalization: NONE }"
    assert made("SmoothL1Loss", settings, (2, 1), (2, 1), dialect=dialect)(x, target).item() == loss
    assert "Intel" in made("SmoothL1Loss", settings, (2, 1), (2, 1)).doubts[0].sentence


def test_the_first_rfcn_divides_by_all_places(made):
    shape = (2, 1, 2, 2)
    bottoms = torch.full(shape, 2.5), torch.zeros(shape), torch.ones(shape)  # 8 losses of 2
    settings = "loss_weight: 1 loss_weight: 0 "
    for more, loss in (("", 16 / 8), ("loss_param { normalization: BATCH_SIZE }", 16 / 2)):
        layer = made("SmoothL1Loss", settings + more, shape, shape, shape, tops=2, dialect="rfcn")
        assert layer(*bottoms)[0].item() == loss
    layer = made("SmoothL1Loss", settings, shape, shape, shape, tops=2, dialect="ssd")
    assert layer(*bottoms)[0].item() == 16 / 2


def test_synopsys_has_an_l1_sum_and_a_setting_for_the_gradients_weight(made):
    ones = torch.ones(1, 2)
    outside = torch.tensor([[1.0, -3]])  # losses of 0.5 and -1.5
    shapes = [(1, 2)] * 4
    for settings, loss in (("", -1.0), ("abssum: false", -1.0), ("abssum: true", 2.0)):
        layer = made("SmoothL1Loss", f"loss_weight: 1 smooth_l1_loss_param {{ {settings} }}", *shapes)
        assert layer(ones, ones * 0, ones, outside).item() == loss
    for settings, slope in (("", 0.5), ("abssum: true", 0.5), ("abssum: false", 0.25)):
        layer = made("SmoothL1Loss", f"loss_weight: 1 smooth_l1_loss_param {{ {settings} }}", *shapes[:3])
        x = ones.clone().requires_grad_()
        layer(x, ones * 0, ones / 2).backward()
        assert x.grad.tolist() == [[slope, slope]]


def test_the_second_top_of_ohem_has_four_axes_for_flat_bottoms(made):
    for shape in [(2, 3), (2, 3, 1, 1)]:
        layer = made("SmoothL1LossOHEM", "loss_weight: 1 loss_weight: 0", shape, (2, 3), tops=2)
        assert layer.top_shapes([shape, (2, 3)]) == [(), (2, 1, 1, 1)]
        _, each = layer(torch.full(shape, 2.5), torch.zeros(2, 3))
        assert each.flatten().tolist() == [6, 6]
