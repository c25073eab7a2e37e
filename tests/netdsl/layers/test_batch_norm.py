"""BatchNorm compared with a plain implementation: the top, the gradient, and the three sums."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer


def by_channel(x: np.ndarray) -> np.ndarray:
    """Return a row for each channel."""
    return np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)


def backward(x: np.ndarray, gradient: np.ndarray, eps: float, beside: float = 0) -> np.ndarray:
    """Compute the gradient by Caffe's formula, channel by channel."""
    found = np.empty_like(x)
    for channel in range(x.shape[1]):
        values, top = x[:, channel], gradient[:, channel]
        deviation = np.sqrt(values.var() + eps) + beside
        normal = (values - values.mean()) / deviation
        found[:, channel] = (top - top.mean() - (top * normal).mean() * normal) / deviation
    return found


def sums(layer: Layer) -> list[np.ndarray]:
    return [tensor.detach().numpy().copy() for tensor in layer.blob_tensors()][:3]


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (4, 3, 2, 5), (4, 3, 2, 5, 2)])
def test_training_equals_a_plain_implementation(made, shape):
    generator = np.random.default_rng(0)
    layer = made(
        "BatchNorm", "batch_norm_param { moving_average_fraction: 0.75 eps: 0.125 }", shape, train=True
    ).double()
    expected = [np.zeros(3), np.zeros(3), np.zeros(1)]
    for _ in range(3):
        values, gradient = generator.normal(2, 3, shape), generator.normal(size=shape)
        x = torch.tensor(values, requires_grad=True)
        top = layer(x)
        top.backward(torch.tensor(gradient))
        rows = by_channel(values)
        normal = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 0.125)
        np.testing.assert_allclose(by_channel(top.detach().numpy()), normal, atol=1e-12)
        np.testing.assert_allclose(x.grad, backward(values, gradient, 0.125), atol=1e-12)
        new = [rows.mean(1), rows.var(1, ddof=1), np.ones(1)]
        expected = [0.75 * old + each for old, each in zip(expected, new, strict=True)]
    for got, want in zip(sums(layer), expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


def fill(layer: Layer) -> None:
    layer.mean.copy_(torch.tensor([2.0, -4.0, 6.0]))
    layer.variance.copy_(torch.tensor([8.0, 2.0, 18.0]))
    layer.factor.fill_(2)


@pytest.mark.parametrize(("settings", "train"), [("", False), ("batch_norm_param { use_global_stats: true }", True)])
def test_averages_of_the_sums(made, settings, train):
    layer = made("BatchNorm", settings, (2, 3, 2), train=train)
    fill(layer)
    before = sums(layer)
    x = torch.randn(2, 3, 2, requires_grad=True)
    top = layer(x)
    top.sum().backward()
    deviation = np.sqrt(np.array([4, 1, 9]) + 1e-5).reshape(3, 1)
    expected = (x.detach().numpy() - np.array([1, -2, 3]).reshape(3, 1)) / deviation
    np.testing.assert_allclose(top.detach(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.grad, np.broadcast_to(1 / deviation, x.shape), rtol=1e-6)
    for got, want in zip(sums(layer), before, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "settings",
    ["", "eps: 0.125", "add_eps_before_sqrt: false", "scale_filler { value: 2 }", "scale_bias: true"],
)
def test_without_learning_channels_last_give_the_same_top(made, settings):
    layer = made("BatchNorm", f"batch_norm_param {{ {settings} }}", (2, 3, 4, 5))
    fill(layer)
    x = torch.randn(2, 3, 4, 5)
    expected, last = layer(x.requires_grad_()).detach(), x.detach().contiguous(memory_format=torch.channels_last)
    before = last.clone()
    with torch.no_grad():
        top = layer(last)
    torch.testing.assert_close(top, expected)
    assert top.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(last, before)  # the layer may overwrite it only where the net allows that


@pytest.mark.parametrize("shape", [(2, 1, 4, 5), (2, 4), (2,)])
def test_a_bottom_with_other_channels_is_refused(made, shape):
    layer = made("BatchNorm", "", (2, 3, 4, 5))
    x = torch.randn(shape)
    with pytest.raises(ShapeError, match=r"blobs are for 3 channels, but the bottom .* has"), torch.no_grad():
        layer(x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x)
    with pytest.raises(ShapeError, match="blobs are for 3 channels"):
        layer.top_shapes([shape])


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2, 5)])
def test_eps_can_be_added_to_the_root(made, shape):
    generator = np.random.default_rng(0)
    settings = "batch_norm_param { eps: 0.125 add_eps_before_sqrt: false moving_average_fraction: 0.75 }"
    layer = made("BatchNorm", settings, shape, train=True).double()
    values, gradient = generator.normal(2, 3, shape), generator.normal(size=shape)
    x = torch.tensor(values, requires_grad=True)
    top = layer(x)
    top.backward(torch.tensor(gradient))
    rows = by_channel(values)
    normal = (rows - rows.mean(1, keepdims=True)) / (rows.std(1, keepdims=True) + 0.125)
    np.testing.assert_allclose(by_channel(top.detach().numpy()), normal, atol=1e-12)
    np.testing.assert_allclose(x.grad, backward(values, gradient, 0, 0.125), atol=1e-12)
    for got, want in zip(sums(layer), [rows.mean(1), rows.var(1, ddof=1), [1]], strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)

    fill(layer.eval())
    deviation = np.sqrt([[4], [1], [9]]) + 0.125
    normal = (rows - [[1], [-2], [3]]) / deviation
    np.testing.assert_allclose(by_channel(layer(x).detach().numpy()), normal, atol=1e-12)
    factor, shift = layer.channel_affine()
    np.testing.assert_allclose(factor.numpy()[:, None] * rows + shift.numpy()[:, None], normal, atol=1e-12)


def test_a_single_value_with_eps_added_to_the_root(made):
    settings = "batch_norm_param { add_eps_before_sqrt: false scale_bias: true bias_filler { value: 3 } }"
    layer = made("BatchNorm", settings, (1, 2), train=True)
    assert layer(torch.tensor([[5.0, 7.0]])).tolist() == [[3, 3]]
    assert layer.variance.tolist() == [0, 0]


def test_without_any_batch_yet_mean_and_variance_are_zero(made):
    layer = made("BatchNorm", "batch_norm_param { eps: 0.25 }", (2, 3))
    layer.mean.fill_(7)  # the sums don't count while the factor is 0
    assert torch.equal(layer(torch.full((2, 3), 5.0)), torch.full((2, 3), 10.0))


def test_the_batchs_own_statistics_in_a_test_are_added_to_the_sums_too(made):
    layer = made("BatchNorm", "batch_norm_param { use_global_stats: false }", (4, 3))
    x = torch.randn(4, 3)
    assert layer(x).mean(0).abs().max() < 1e-6
    # a mean near 0 loses its relative precision
    np.testing.assert_allclose(layer.mean, x.mean(0), rtol=1e-6, atol=1e-6)
    assert layer.factor.item() == 1


def test_one_value_per_channel_is_normalized_to_zero(made):
    layer = made("BatchNorm", "", (1, 3), train=True)
    x = torch.randn(1, 3, requires_grad=True)
    top = layer(x)
    top.sum().backward()
    assert top.tolist() == [[0, 0, 0]]
    assert x.grad.tolist() == [[0, 0, 0]]
    assert torch.equal(layer.mean, x.detach()[0])
    assert layer.variance.tolist() == [0, 0, 0]


def test_a_bottom_of_one_axis_is_one_channel(made):
    layer = made("BatchNorm", "", (4,), train=True)
    x = torch.tensor([1.0, 2.0, 3.0, 6.0])
    top = layer(x)
    assert [tuple(tensor.shape) for tensor in layer.blob_tensors()] == [(1,), (1,), (1,)]
    np.testing.assert_allclose(top, (x - 3) / np.sqrt(3.5 + 1e-5), rtol=1e-6)
    np.testing.assert_allclose(layer.variance, [14 / 3], rtol=1e-6)
    assert layer.eval()(x).shape == (4,)


def test_intels_parts_of_a_batch_have_separate_statistics(made):
    settings = "batch_norm_param { stats_batch_size: 2 moving_average_fraction: 0.5 }"
    layer = made("BatchNorm", settings, (4, 3, 5), train=True)
    plain = made("BatchNorm", "batch_norm_param { moving_average_fraction: 0.5 }", (2, 3, 5), train=True)
    x = torch.randn(4, 3, 5)
    assert torch.equal(layer(x), torch.cat([plain(x[:2]), plain(x[2:])]))
    for got, want in zip(sums(layer), sums(plain), strict=True):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ShapeError, match="stats_batch_size 2 doesn't divide the batch size 5"):
        layer.top_shapes([(5, 3, 5)])


@pytest.mark.parametrize(
    ("settings", "blobs"),
    [
        ("", ["mean", "variance", "factor"]),
        ("filler { value: 1 }", ["mean", "variance", "factor"]),
        ("scale_bias: true", ["mean", "variance", "factor", "weight", "bias"]),
        ("bias_filler { value: 3 }", ["mean", "variance", "factor", "weight", "bias"]),
        ("engine: MKLDNN", ["mean", "variance", "factor", "weight", "bias"]),
        ("engine: MKLDNN bias_term: false", ["mean", "variance", "factor", "weight"]),
        ("engine: MKLDNN use_weight_bias: false", ["mean", "variance", "factor"]),
    ],
)
def test_blobs_of_forks(made, settings, blobs):
    layer = made("BatchNorm", f"batch_norm_param {{ {settings} }}", (2, 3, 4))
    assert layer.blob_names() == blobs
    assert all(parameter.requires_grad for parameter in layer.parameters())


@pytest.mark.parametrize("train", [False, True])
def test_a_scale_and_a_bias_may_follow(made, train):
    settings = "moving_average_fraction: 0.5"
    more = f"{settings} scale_filler {{ value: 2 }} bias_filler {{ value: 3 }}"
    layer = made("BatchNorm", f"batch_norm_param {{ {more} }}", (4, 3, 5), train=train)
    plain = made("BatchNorm", f"batch_norm_param {{ {settings} }}", (4, 3, 5), train=train)
    fill(layer), fill(plain)
    x = torch.randn(4, 3, 5)
    np.testing.assert_allclose(layer(x).detach(), 2 * plain(x) + 3, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "shape", "message"),
    [
        ("", (), "needs at least one axis"),
        ("disable_mean: true", (2, 3), "'disable_mean' is a setting of a fork"),
        ("use_global_stats: true update_global_stats: true", (2, 3), "'update_global_stats' is a setting"),
    ],
)
def test_wrong_settings_are_refused(made, settings, shape, message):
    with pytest.raises(NetError, match=message):
        made("BatchNorm", f"batch_norm_param {{ {settings} }}", shape, train=True)
