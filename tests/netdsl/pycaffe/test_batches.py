"""More items than a batch has."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import NetError

TWICE = """force_backward: true
input: "x" input_shape { dim: 4 dim: 3 }
layer { type: "Power" name: "twice" bottom: "x" top: "y" power_param { scale: 2 } }"""


@pytest.mark.parametrize("count", [1, 4, 10])
def test_all_items_run_and_nothing_else_comes_back(make_net, count: int) -> None:
    x = np.random.default_rng(1).standard_normal((count, 3))
    found = make_net(TWICE).forward_all(blobs=["x"], x=x)
    np.testing.assert_allclose(found["y"], 2 * x, rtol=1e-6)
    np.testing.assert_allclose(found["x"], x, rtol=1e-6)


def test_all_items_run_back(make_net) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((10, 3)), rng.standard_normal((10, 3))
    found, gradients = make_net(TWICE).forward_backward_all(diffs=["y"], x=x, y=y)
    np.testing.assert_allclose(found["y"], 2 * x, rtol=1e-6)
    np.testing.assert_allclose(gradients["x"], 2 * y, rtol=1e-6)
    np.testing.assert_allclose(gradients["y"], y, rtol=1e-6)


def test_nothing_to_run_is_an_error(make_net) -> None:
    with pytest.raises(NetError, match="give the inputs"):
        make_net(TWICE).forward_all()
