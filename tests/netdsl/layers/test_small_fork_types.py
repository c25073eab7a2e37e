"""Squeeze, Pad, Add, Maximum, Flip, ChannelScale, HardSwish, SeLu and SeLuDropout: small layer types of forks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

DRAW = np.random.default_rng(2)


def some(*shape):
    return torch.from_numpy(DRAW.normal(size=shape)).requires_grad_()


@pytest.mark.parametrize(
    ("settings", "shape", "wanted"),
    [
        ("", (2, 1, 3, 1), (2, 3)),
        ("squeeze_param { axis: 1 }", (2, 1, 3, 1), (2, 3, 1)),
        ("squeeze_param { axis: -1 axis: 1 }", (1, 1, 3, 1), (1, 3)),
    ],
)
def test_squeeze_removes_axes_of_size_one(settings, shape, wanted):
    x = some(*shape)
    layer = layer_of("Squeeze", settings, shape)
    assert torch.equal(layer(x), x.reshape(wanted))
    assert layer.top_shapes([shape]) == [wanted]
    assert torch.autograd.gradcheck(layer, (x,))


def test_squeeze_refuses_other_axes():
    with pytest.raises(ShapeError, match="axis 2 has length 3 and can't be removed"):
        layer_of("Squeeze", "squeeze_param { axis: 2 }", (2, 1, 3))
    with pytest.raises(ShapeError, match="axis 5"):
        layer_of("Squeeze", "squeeze_param { axis: 5 }", (2, 1, 3))


def test_pad_puts_a_border_around():
    x = some(2, 3, 4)
    layer = layer_of("Pad", "pad_param { paddings: [0, 1, 2, 0, 1, 3] constant_values: 7 }", x.shape)
    wanted = np.full((3, 5, 8), 7.0)
    wanted[:2, 2:, 1:5] = x.detach()
    assert np.array_equal(layer(x).detach(), wanted)
    assert torch.autograd.gradcheck(layer, (x,))
    with pytest.raises(ShapeError, match="needs 6 paddings, not 2"):
        layer_of("Pad", "pad_param { paddings: [0, 1] }", x.shape)


@pytest.mark.parametrize(("kind", "operation"), [("Add", np.add), ("Maximum", np.maximum)])
def test_two_blobs_are_combined_value_by_value(kind, operation):
    a, b = some(2, 3, 4, 5), some(4, 1)
    layer = layer_of(kind, "", a.shape, b.shape)
    np.testing.assert_array_equal(layer(a, b).detach(), operation(a.detach().numpy(), b.detach().numpy()))
    assert torch.autograd.gradcheck(layer, (a, b))
    with pytest.raises(ShapeError, match="don't match"):
        layer_of(kind, "", (2, 3), (2, 4))


def test_the_maximum_of_one_blob_includes_its_position():
    x = -torch.ones(2, 2, 3, 4)
    x[0, 1, 2, 3], x[1, 0, 1, 0], x[1, 1, 0, 2] = 5, 0.5, 2
    top = layer_of("Maximum", "", x.shape)(x)
    assert top.shape == (2, 2, 1, 3)
    assert top[:, :, 0].tolist() == [[[0, 0, 0], [3, 2, 5]], [[0, 1, 0.5], [2, 0, 2]]]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ("", (slice(None), slice(None, None, -1))),
        ("flip_param { flip_width: false flip_height: true }", (slice(None, None, -1), slice(None))),
        ("flip_param { flip_height: true }", (slice(None, None, -1), slice(None, None, -1))),
    ],
)
def test_flip_mirrors_an_axis(settings, wanted):
    x = some(2, 3, 4, 5)
    layer = layer_of("Flip", settings, x.shape)
    np.testing.assert_array_equal(layer(x).detach(), x.detach().numpy()[:, :, *wanted])
    assert torch.autograd.gradcheck(layer, (x,))


def test_channel_scale_multiplies_channels():
    x, scale = some(2, 3, 4, 5), some(2, 1, 4, 5)
    layer = layer_of("ChannelScale", "", x.shape, scale.shape)
    wanted = np.zeros(x.shape)
    for n, c, h, w in np.ndindex(*x.shape):
        wanted[n, c, h, w] = x[n, c, h, w].item() * scale[n, 0, h, w].item()
    np.testing.assert_allclose(layer(x, scale).detach(), wanted)
    assert torch.autograd.gradcheck(layer, (x, scale))
    with pytest.raises(ShapeError, match="one number for each item and position"):
        layer_of("ChannelScale", "", x.shape, (2, 1, 5, 4))
    with pytest.raises(NetError, match="'global_scale' is a setting of a fork"):
        layer_of("ChannelScale", "channel_scale_param { global_scale: true }", x.shape, scale.shape)


def test_hard_swish_equals_its_formula():
    x = torch.tensor([-4.0, -3, -1.5, 0, 1, 3, 5], dtype=torch.double)
    wanted = [value * min(max(value + 3, 0), 6) / 6 for value in x.tolist()]
    layer = layer_of("HardSwish", "", x.shape)
    np.testing.assert_allclose(layer(x), wanted, rtol=1e-15)
    assert torch.autograd.gradcheck(layer, (some(7),))


@pytest.mark.parametrize(
    ("settings", "scale", "alpha"),
    [("", 1.050700987, 1.67326324), ("selu_param { lambda: 2 alpha: 0.5 }", 2, 0.5)],
)
def test_se_lu_equals_its_formula(settings, scale, alpha):
    x = some(7)
    layer = layer_of("SeLu", settings, (7,))
    wanted = [scale * (value if value > 0 else alpha * (math.exp(value) - 1)) for value in x.tolist()]
    np.testing.assert_allclose(layer(x).detach(), wanted, rtol=1e-7)  # the defaults are single-precision numbers
    assert torch.autograd.gradcheck(layer, (x,))


def test_se_lu_dropout_keeps_mean_and_variance():
    x = torch.randn(200_000, dtype=torch.double)
    layer = layer_of("SeLuDropout", "selu_dropout_param { dropout_ratio: 0.3 }", x.shape)
    layer.train()
    top = layer(x)
    assert abs(top.mean()) < 0.02  # 0.013 is six standard deviations of the mean of 200,000 values
    assert abs(top.var() - 1) < 0.03
    left_out = top == top.mode().values
    assert abs(left_out.double().mean() - 0.3) < 0.01
    torch.testing.assert_close(top[~left_out], layer.scale * x[~left_out] + layer.shift)


def test_se_lu_dropout_changes_nothing_in_a_test():
    x = some(5)
    layer = layer_of("SeLuDropout", "", x.shape)
    layer.eval()
    assert torch.equal(layer(x), x)
    with pytest.raises(NetError, match="dropout_ratio is 1; set it between 0 and 1"):
        layer_of("SeLuDropout", "selu_dropout_param { dropout_ratio: 1 }", x.shape)


@pytest.mark.parametrize(
    ("shape", "top"), [((1, 4), (1, 4, 1, 1)), ((1, 4, 1), (1, 4, 1, 1)), ((1, 4, 2, 1), (1, 4, 2, 1))]
)
def test_the_top_of_shuffle_channel_has_four_axes(shape, top):
    layer = layer_of("ShuffleChannel", "shuffle_channel_param { group: 2 }", shape)
    assert layer.top_shapes([shape]) == [top]
    x = torch.arange(4.0).view(1, 4, *(1,) * (len(shape) - 2)).expand(shape)
    assert layer(x).shape == top
    assert layer(x)[0, :, 0, 0].tolist() == [0, 2, 1, 3]


def test_shuffle_channel_accepts_at_most_four_axes():
    with pytest.raises(ShapeError, match="two further axes"):
        layer_of("ShuffleChannel", "shuffle_channel_param { group: 2 }", (1, 4, 1, 1, 1))


@pytest.mark.parametrize("kind", ["SeLu", "SeLU"])
def test_an_exponential_unit_by_both_its_names(kind):
    x = torch.tensor([2.0, -math.log(2)])
    torch.testing.assert_close(layer_of(kind, "selu_param { lambda: 3 alpha: 0.5 }", (2,))(x), torch.tensor([6, -0.75]))


@pytest.mark.parametrize("kind", ["SeLuDropout", "SeLUDropout"])
def test_its_dropout_by_both_its_names(kind):
    layer = layer_of(kind, "selu_dropout_param { dropout_ratio: 0.5 alpha: -1 }", (1000,))
    assert torch.equal(layer.eval()(torch.ones(1000)), torch.ones(1000))
    # half of the values are kept, so the scale is (0.5 * (1 + 0.5)) ** -0.5 and the shift is half of that
    scale = 0.75**-0.5
    values = layer.train()(torch.full((1000,), 3.0)).unique().tolist()
    assert values == pytest.approx([-0.5 * scale, 3.5 * scale])
