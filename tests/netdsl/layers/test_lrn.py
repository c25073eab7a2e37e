"""LRN compared with loops over channels and windows, and its gradient with finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of


def lrn(settings, shape=(2, 4, 5, 3)):
    return layer_of("LRN", f"lrn_param {{ {settings} }}", shape)


def across(x, size, alpha, beta, k):
    y = np.empty_like(x)
    for channel in range(x.shape[1]):
        near = x[:, max(channel - size // 2, 0) : channel + size // 2 + 1]
        y[:, channel] = x[:, channel] / (k + alpha / size * (near**2).sum(1)) ** beta
    return y


def within(x, size, alpha, beta):
    y = np.empty_like(x)
    for row, column in np.ndindex(*x.shape[2:]):
        rows = slice(max(row - size // 2, 0), row + size // 2 + 1)
        columns = slice(max(column - size // 2, 0), column + size // 2 + 1)
        total = (x[..., rows, columns] ** 2).sum((2, 3))
        y[..., row, column] = x[..., row, column] / (1 + alpha / size**2 * total) ** beta
    return y


@pytest.mark.parametrize("size", [1, 3, 5, 11])
@pytest.mark.parametrize(("alpha", "beta", "k"), [(0.5, 0.75, 2), (2, 0.5, 1), (1, 1.3, 0.25)])
def test_neighboring_channels_or_places_are_normalized_together(size, alpha, beta, k):
    x = torch.randn(2, 4, 5, 3, dtype=torch.double)
    settings = f"local_size: {size} alpha: {alpha} beta: {beta} k: {k}"
    beta = float(np.float32(beta))  # as the message stores it
    np.testing.assert_allclose(lrn(settings)(x), across(x.numpy(), size, alpha, beta, k), rtol=1e-12)
    inside = lrn(f"{settings} norm_region: WITHIN_CHANNEL")(x)  # k is used only across channels
    np.testing.assert_allclose(inside, within(x.numpy(), size, alpha, beta), rtol=1e-12)


@pytest.mark.parametrize("settings", ["local_size: 3 k: 2", "beta: 0.4 alpha: 0.7", "local_size: 11", "local_size: 1"])
@pytest.mark.parametrize("region", ["ACROSS_CHANNELS", "WITHIN_CHANNEL"])
def test_gradients(settings, region):
    x = torch.randn(2, 4, 2, 3, dtype=torch.double, requires_grad=True)
    torch.autograd.gradcheck(lrn(f"{settings} norm_region: {region}"), x)


@pytest.mark.parametrize("region", ["ACROSS_CHANNELS", "WITHIN_CHANNEL"])
def test_a_neighborhood_beyond_the_edges_costs_nothing(region):
    x = torch.randn(1, 4, 2, 3)
    all_near = lrn(f"local_size: 9 alpha: 9 norm_region: {region}", x.shape)
    beyond = lrn(f"local_size: 90009 alpha: 90009 norm_region: {region}", x.shape)
    assert beyond.products([x.shape], [x.shape]) == all_near.products([x.shape], [x.shape])
    if region == "ACROSS_CHANNELS":
        torch.testing.assert_close(beyond(x), all_near(x), rtol=0, atol=0)


def test_the_input_is_unchanged():
    x = torch.randn(2, 4, 5, 3, requires_grad=True)
    before = x.detach().clone()
    lrn("k: 2")(x).sum().backward()
    assert (x == before).all()


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="local_size is 4; set it to an odd number"):
        lrn("local_size: 4")
    with pytest.raises(ShapeError, match="4 axes"):
        lrn("", (2, 4))
