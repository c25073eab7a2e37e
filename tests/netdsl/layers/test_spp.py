"""SPP: levels, their order, and images that are too small."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of


def spp(settings, shape=(2, 3, 8, 12)):
    return layer_of("SPP", f"spp_param {{ {settings} }}", shape)


@pytest.mark.parametrize(("pool", "reduce"), [("MAX", np.max), ("AVE", np.mean)])
def test_every_level_has_four_times_as_many_bins(pool, reduce):
    x = torch.randn(2, 3, 8, 12)
    rows = []
    for bins in (1, 2, 4):
        cut = x.numpy().reshape(2, 3, bins, 8 // bins, bins, 12 // bins)
        rows.append(reduce(cut, axis=(3, 5)).reshape(2, -1))
    np.testing.assert_allclose(spp(f"pyramid_height: 3 pool: {pool}")(x), np.concatenate(rows, 1), rtol=1e-5, atol=1e-6)


def test_sizes_that_bins_do_not_divide_are_padded():
    """With bins of 3 over 5 rows, the padding counts in averages. Half of it, rounded up, comes first."""
    x = torch.ones(1, 1, 5, 4)
    y = spp("pyramid_height: 2 pool: AVE", x.shape)(x)
    torch.testing.assert_close(y, torch.tensor([[1, 2 / 3, 2 / 3, 1, 1]]))


def test_every_image_size_gives_the_same_number_of_values():
    layer = spp("pyramid_height: 3")
    assert {layer.top_shapes([(2, 3, height, 9)])[0] for height in (4, 7, 8, 13)} == {(2, 3 * 21)}


def test_one_level_keeps_the_axes():
    assert spp("pyramid_height: 1").top_shapes([(2, 3, 8, 12)]) == [(2, 3, 1, 1)]


def test_stochastic_levels_are_supported():
    layer = spp("pyramid_height: 2 pool: STOCHASTIC")
    x = torch.rand(2, 3, 8, 12)
    assert set(layer(x).flatten().tolist()) <= set(x.flatten().tolist())
    weighed = (x * x).sum((2, 3)) / x.sum((2, 3))
    torch.testing.assert_close(layer.eval()(x)[:, :3], weighed)


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="pyramid_height is missing"):
        spp("")
    with pytest.raises(ShapeError, match="4 axes"):
        spp("pyramid_height: 2", (2, 3))
    with pytest.raises(ShapeError, match="too small for 4 x 4 bins"):
        spp("pyramid_height: 3").top_shapes([(2, 3, 5, 8)])
    with pytest.raises(ShapeError, match="STOCHASTIC pooling doesn't support padding"):
        spp("pyramid_height: 2 pool: STOCHASTIC").top_shapes([(2, 3, 5, 8)])
