"""Normalize beside plain sums, and the gradient that Caffe has where channels have scales of their own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from netdsl.layers import LAYERS


def normalize(settings: str, shape: tuple[int, ...]) -> Layer:
    text = f'type: "Normalize" bottom: "x" top: "y" norm_param {{ {settings} }}'
    layer = LAYERS["Normalize"](from_text(text, pb.LayerParameter), [shape])
    layer.allocate("cpu", {})
    return layer.double()


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3)])
def test_lengths_and_gradients(across, shared, shape):
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=shape), rng.normal(size=shape)
    layer = normalize(f"across_spatial: {across} channel_shared: {shared} eps: 0.1".lower(), shape)
    scale = rng.uniform(0.5, 2, () if shared else (3,))
    layer.scale.data.copy_(torch.tensor(scale))
    bottom = torch.tensor(x, requires_grad=True)
    top = layer(bottom)
    top.backward(torch.tensor(weights))

    expected, gradient, scale_gradient = np.zeros(shape), np.zeros(shape), np.zeros(scale.shape)
    own = np.broadcast_to(scale.reshape(-1, *(1,) * (len(shape) - 2)), shape[1:])
    for n in range(shape[0]):
        places = [np.ones(shape[1:], bool)] if across else [np.zeros(shape[1:], bool) for _ in range(x[0, 0].size)]
        for index, mask in enumerate(places if not across else []):
            mask.reshape(shape[1], -1)[:, index] = True
        for mask in places:
            unit = x[n] * mask / np.sqrt((x[n][mask] ** 2).sum() + 0.1)
            length = np.sqrt((x[n][mask] ** 2).sum() + 0.1)
            g = weights[n] * mask
            expected[n] += unit * own
            gradient[n] += (g - unit * (unit * g).sum()) / length * own
            scale_gradient += (unit * g).sum() if shared else (unit * g).reshape(3, -1).sum(1)
    np.testing.assert_allclose(top.detach(), expected)
    np.testing.assert_allclose(bottom.grad, gradient)
    np.testing.assert_allclose(layer.scale.grad, scale_gradient)


def test_the_scale_starts_at_one_or_as_its_filler_says():
    assert normalize("", (2, 3, 4, 5)).scale.item() == 1
    assert normalize("channel_shared: false scale_filler { value: 20 }", (2, 3, 4, 5)).scale.tolist() == [20] * 3
    assert normalize("scale_filler { }", (2, 3, 4, 5)).scale.item() == 0


def test_what_it_cannot_do_is_told():
    with pytest.raises(ShapeError, match="2 axes or more"):
        normalize("", (3,))
    with pytest.raises(NetError, match="normalize_type"):
        normalize('normalize_type: "L1"', (2, 3))
