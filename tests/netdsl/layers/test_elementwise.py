"""Values and gradients of activations, compared with their formulas, also at the kinks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from netdsl.errors import NetError
from netdsl.layers import LAYERS

POINTS = np.array([[-30.0, -3.0, -1.5, -0.5], [0.0, 0.5, 2.0, 30.0]])
POSITIVE = np.array([[0.25, 0.5, 1.5], [2.0, 3.0, 7.0]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


CASES = {
    "AbsVal": ("", POINTS, np.abs, np.sign),
    "BNLL": ("", POINTS, lambda x: np.log1p(np.exp(x)), sigmoid),
    "Clip": (
        "clip_param { min: -1.5 max: 2 }",
        POINTS,
        lambda x: np.clip(x, -1.5, 2),
        lambda x: 1.0 * ((x >= -1.5) & (x <= 2)),
    ),
    "ELU": (
        "elu_param { alpha: 0.5 }",
        POINTS,
        lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0))),
        lambda x: np.where(x > 0, 1, 0.5 * np.exp(np.minimum(x, 0))),
    ),
    "ELU of NVCaffe": (
        "elu_param { lambda: 3 }",
        POINTS,
        lambda x: 3 * np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        lambda x: 3 * np.where(x > 0, 1, np.exp(np.minimum(x, 0))),
    ),
    "Exp": (
        "exp_param { scale: 0.25 shift: -2 }",
        POINTS,
        lambda x: np.exp(x / 4 - 2),
        lambda x: np.exp(x / 4 - 2) / 4,
    ),
    "Exp of base 2": (
        "exp_param { base: 2 scale: -0.5 shift: 3 }",
        POINTS,
        lambda x: 2 ** (3 - x / 2),
        lambda x: -math.log(2) / 2 * 2 ** (3 - x / 2),
    ),
    "Log": ("", POSITIVE, np.log, lambda x: 1 / x),
    "Log of base 10": (
        "log_param { base: 10 scale: 2 shift: 5 }",
        POINTS + 30,
        lambda x: np.log10(2 * x + 5),
        lambda x: 2 / (2 * x + 5) / math.log(10),
    ),
    "Power": ("", POINTS, lambda x: x, np.ones_like),
    "Power that is linear": ("power_param { scale: 3 shift: -1 }", POINTS, lambda x: 3 * x - 1, lambda x: 3 + 0 * x),
    "Power that is a root": (
        "power_param { power: -0.5 scale: 4 shift: 1 }",
        POSITIVE,
        lambda x: (4 * x + 1) ** -0.5,
        lambda x: -2 * (4 * x + 1) ** -1.5,
    ),
    "Power that is odd": ("power_param { power: 3 }", POINTS, lambda x: x**3, lambda x: 3 * x**2),
    "PReLU": ("", POINTS, lambda x: np.where(x > 0, x, x / 4), lambda x: np.where(x > 0, 1, 0.25)),
    "ReLU": ("", POINTS, lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    "ReLU that leaks": (
        "relu_param { negative_slope: 0.5 }",
        POINTS,
        lambda x: np.where(x > 0, x, x / 2),
        lambda x: np.where(x > 0, 1, 0.5),
    ),
    "ReLU up to 6": (
        "relu_param { relu6: true }",
        POINTS,
        lambda x: np.clip(x, 0, 6),
        lambda x: 1.0 * ((x > 0) & (x < 6)),
    ),
    "ReLU with bounds": (
        "relu_param { maximum: 2 minimum: 0.5 }",
        POINTS,
        lambda x: np.clip(x, 0.5, 2),
        lambda x: 1.0 * ((x > 0.5) & (x < 2)),
    ),
    "Sigmoid": ("", POINTS, sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    "Swish": ("", POINTS, lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x))),
    "Swish with a beta": (
        "swish_param { beta: 2 }",
        POINTS,
        lambda x: x * sigmoid(2 * x),
        lambda x: sigmoid(2 * x) * (1 + 2 * x * sigmoid(-2 * x)),
    ),
    "TanH": ("", POINTS, np.tanh, lambda x: 1 / np.cosh(x) ** 2),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_equal_the_formulas(made, case):
    settings, points, value, slope = CASES[case]
    layer = made(case.split()[0], settings, points.shape).double()
    x = torch.tensor(points, requires_grad=True)
    top = layer(x)
    top.sum().backward()
    # Settings are float32, and softplus is linear from 20 on.
    np.testing.assert_allclose(top.detach(), value(points), rtol=2e-7, atol=1e-8)
    np.testing.assert_allclose(x.grad, slope(points), rtol=2e-7, atol=1e-8)


@pytest.mark.parametrize(("settings", "value"), [("scale: 0 power: 3 shift: 2", 8), ("power: 0 shift: -1", 1)])
def test_power_is_constant_where_the_bottom_does_not_count(made, settings, value):
    top = made("Power", f"power_param {{ {settings} }}", (2,))(torch.tensor([math.inf, 1.0]))
    assert top.tolist() == [value, value]


def test_an_identity_is_another_tensor(made):
    x = torch.ones(2, 3, requires_grad=True)
    for kind in ("Power", "Dropout"):
        assert made(kind, "", (2, 3))(x) is not x


def test_threshold(made):
    x = torch.tensor([0.25, 0.5, 0.75], requires_grad=True)
    top = made("Threshold", "threshold_param { threshold: 0.5 }", (3,))(x)
    assert top.tolist() == [0, 0, 1]
    assert top.dtype == x.dtype
    assert LAYERS["Threshold"].no_gradient == (0,)


def test_prelu_learns_a_slope_for_each_channel_or_one_for_all(made):
    x = torch.tensor([[[-2.0, 3.0], [-1.0, -4.0], [5.0, 0.0]]])
    each = made("PReLU", "prelu_param { filler { value: 0.5 } }", (1, 3, 2))
    each(x).sum().backward()
    assert each.slope.tolist() == [0.5, 0.5, 0.5]
    assert each.slope.grad.tolist() == [-2, -5, 0]
    one = made("PReLU", "prelu_param { channel_shared: true }", (1, 3, 2))
    one(x).sum().backward()
    assert one.slope.shape == ()
    assert one.slope.grad.item() == -7


def test_a_filler_without_a_value_is_zero(made):
    assert made("PReLU", "prelu_param { filler { } }", (1, 3)).slope.tolist() == [0, 0, 0]


def test_softmax_works_along_another_axis(made):
    x = torch.randn(2, 3, 4, 5)
    top = made("Softmax", "softmax_param { axis: -2 }", (2, 3, 4, 5))(x).numpy()
    exponents = np.exp(x.numpy())
    np.testing.assert_allclose(top, exponents / exponents.sum(2, keepdims=True), rtol=1e-5)


def test_silence_has_no_top(made):
    assert made("Silence", "", (2,), (3, 4), tops=0)(torch.ones(2), torch.ones(3, 4)) == ()


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("Clip", "clip_param { min: 2 max: 1 }", "min 2 is greater than max 1"),
        ("Clip", "", "min or max is missing"),
        ("Exp", "exp_param { base: -2 }", "base is -2; set it to a positive number, or to -1"),
        ("Log", "log_param { base: 0 }", "base is 0; set it to a positive number"),
        ("Log", "log_param { base: 1 }", "base 1 has no logarithm"),
        ("PReLU", "", "must have a second axis"),
        ("ReLU", "relu_param { minimum: 3 maximum: 2 }", "minimum 3 isn't less than"),
        (
            "Dropout",
            "dropout_param { dropout_ratio: 1 sample_weights_test: true }",
            "dropout_ratio is 1; set it to at least 0 and less than 1",
        ),
        ("Dropout", "dropout_param { sqrt_scale: true }", "'sqrt_scale' is a setting of a fork"),
        ("Softmax", "", "axis 1 doesn't exist"),
    ],
)
def test_wrong_settings_are_refused(made, kind, settings, message):
    with pytest.raises(NetError, match=message):
        made(kind, settings, (3,))


def test_a_forks_setting_at_its_default_is_accepted(made):
    made("Dropout", "dropout_param { sqrt_scale: false }", (3,))


def test_a_test_net_may_drop_everything_because_tests_drop_nothing(made):
    made("Dropout", "dropout_param { dropout_ratio: 1 }", (3,))


DROPOUT = {  # settings, and the factor for values that are kept: in training, in a test
    "dropout_ratio: 0.75": (4, 1),
    "dropout_ratio: 0.75 scale_train: false": (1, 0.25),
}


@pytest.mark.parametrize("settings", DROPOUT)
def test_dropout_scales_the_kept_values(made, settings):
    in_training, in_test = DROPOUT[settings]
    layer = made("Dropout", f"dropout_param {{ {settings} }}", (2,), train=True)
    x = torch.ones(10_000, requires_grad=True)
    top = layer(x)
    top.sum().backward()
    assert set(top.tolist()) == {0, in_training}
    assert 0.2 < (top > 0).float().mean() < 0.3
    assert torch.equal(x.grad, top)
    assert layer.eval()(x).unique().tolist() == [in_test]


def test_bayesian_segnet_samples_in_a_test(made):
    layer = made("Dropout", "dropout_param { dropout_ratio: 0.5 sample_weights_test: true }", (2,))
    assert set(layer(torch.ones(1000)).tolist()) == {0, 2}


@pytest.mark.parametrize("kind", ["Softmax", "Sigmoid"])
def test_scores_are_computed_from_probabilities(made, kind):
    layer = made(kind, "", (2, 4))
    scores = torch.tensor(POINTS / 6, dtype=torch.float32)
    torch.testing.assert_close(layer(layer.inverse(layer(scores))), layer(scores))
    certain = layer.inverse(torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]]))
    assert certain.isfinite().all() and certain.argmax(1).tolist() == [0, 1]
