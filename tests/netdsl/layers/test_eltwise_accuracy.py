"""EltwiseAccuracy compared with a loop over pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError


@pytest.mark.parametrize("top_k", [1, 2])
@pytest.mark.parametrize("ignored", [None, 2])
def test_the_share_of_pixels_that_are_right(made, top_k, ignored):
    draw = np.random.default_rng(0)
    x, labels = np.round(draw.normal(size=(2, 4, 3, 5))), draw.integers(0, 4, (2, 1, 3, 5))
    settings = f"top_k: {top_k}" + ("" if ignored is None else f" ignore_label: {ignored}")
    layer = made("EltwiseAccuracy", f"eltwise_accuracy_param {{ {settings} }}", x.shape, labels.shape)
    right = []
    for n, i, j in np.ndindex(2, 3, 5):
        best = sorted(range(4), key=lambda c: (x[n, c, i, j], c), reverse=True)[:top_k]
        right += [labels[n, 0, i, j] in best] if labels[n, 0, i, j] != ignored else []
    top = layer(torch.from_numpy(x), torch.from_numpy(labels).float())
    assert tuple(top.shape) == layer.top_shapes([x.shape, labels.shape])[0] == (1, 1, 1, 1)
    assert top.item() == pytest.approx(np.mean(right))


def test_the_accuracy_of_no_pixels_is_nan(made):
    layer = made("EltwiseAccuracy", "eltwise_accuracy_param { ignore_label: 1 }", (1, 2, 1, 1), (1, 1, 1, 1))
    assert layer(torch.zeros(1, 2, 1, 1), torch.ones(1, 1, 1, 1)).isnan().all()


def test_data_that_do_not_fit_are_refused(made):
    with pytest.raises(ShapeError, match="one label for each pixel"):
        made("EltwiseAccuracy", "", (2, 4, 3, 5), (2, 1, 3, 4))
    with pytest.raises(ShapeError, match="top_k 5 is more than the 4 classes"):
        made("EltwiseAccuracy", "eltwise_accuracy_param { top_k: 5 }", (2, 4, 3, 5), (2, 1, 3, 5))
