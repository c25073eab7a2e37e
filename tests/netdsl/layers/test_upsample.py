"""Upsample: SegNet's puts values back where pooling took them from, YOLO's repeats them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layers.upsample import Upsample
from tests.nets import layer_of

SHAPE = (2, 3, 4, 5)


def upsample(settings, bottoms=2, shape=SHAPE) -> Upsample:
    return layer_of("Upsample", f"upsample_param {{ {settings} }}", *[shape] * bottoms)


@pytest.mark.parametrize(
    ("settings", "height", "width"),
    [
        ("scale: 2", 8, 10),
        ("scale_h: 2 scale_w: 3", 8, 15),
        ("scale: 2 pad_out_h: true", 7, 10),
        ("scale: 2 upsample_h: 9 upsample_w: 11", 9, 11),
    ],
)
def test_unpooling_puts_values_back(settings, height, width):
    draw = np.random.default_rng(1)
    x = draw.normal(size=SHAPE)
    mask = np.stack([draw.permutation(height * width)[:20] for _ in range(6)]).reshape(SHAPE)
    wanted = np.zeros((2, 3, height * width))
    for n, c, i, j in np.ndindex(*SHAPE):
        wanted[n, c, mask[n, c, i, j]] = x[n, c, i, j]
    layer, bottom = upsample(settings), torch.from_numpy(x).requires_grad_()
    top = layer(bottom, torch.from_numpy(mask).float())
    assert tuple(top.shape) == layer.top_shapes([SHAPE, SHAPE])[0]
    np.testing.assert_array_equal(top.detach(), wanted.reshape(2, 3, height, width))
    back = draw.normal(size=top.shape)
    top.backward(torch.from_numpy(back))
    for n, c, i, j in np.ndindex(*SHAPE):
        assert bottom.grad[n, c, i, j] == back[n, c].flat[mask[n, c, i, j]]


def test_all_values_of_a_place_get_the_gradient():
    x = torch.rand(1, 1, 1, 3, requires_grad=True)
    mask = torch.tensor([4.0, 4.0, 0.0]).view(1, 1, 1, 3)
    upsample("scale: 2", shape=(1, 1, 1, 3))(x, mask).backward(torch.arange(12.0).view(1, 1, 2, 6))
    assert x.grad.flatten().tolist() == [4, 4, 0]


@pytest.mark.parametrize("scale", [1, 2])
def test_values_are_repeated(scale):
    x = torch.rand(SHAPE, dtype=torch.double, requires_grad=True)
    layer = upsample(f"scale: {scale}", bottoms=1)
    np.testing.assert_array_equal(layer(x).detach(), np.kron(x.detach(), np.ones((1, 1, scale, scale))))
    assert torch.autograd.gradcheck(layer, (x,))


@pytest.mark.parametrize(
    ("settings", "bottoms", "says"),
    [
        ("upsample_h: 8 upsample_w: 10", 1, "mask of a pooling"),
        ("scale: 0", 1, "1 or more"),
        ("scale: 1", 2, "2 or more"),
        ("scale_h: 2", 2, "scale_h and scale_w"),
        ("scale: 3 pad_out_w: true", 2, "a scale of 2"),
        ("upsample_h: 1 upsample_w: 9", 2, "2 or more"),
    ],
)
def test_wrong_settings_are_refused(settings, bottoms, says):
    with pytest.raises(NetError, match=says):
        upsample(settings, bottoms)


def test_a_mask_of_another_shape_is_refused():
    layer = from_text("top: 't'", pb.LayerParameter)
    with pytest.raises(ShapeError, match="the mask has shape"):
        Upsample(layer, [SHAPE, (2, 3, 5, 5)])
    with pytest.raises(ShapeError, match="4 axes"):
        Upsample(layer, [(2, 3)])


def test_without_a_scale_segnets_layer_doubles_the_size_and_yolos_keeps_it():
    shape = (1, 1, 2, 2)
    assert upsample("", 2, shape).top_shapes([shape] * 2) == [(1, 1, 4, 4)]
    assert upsample("", 1, shape).top_shapes([shape]) == [shape]
    x = torch.arange(4.0).view(shape)
    assert torch.equal(upsample("", 1, shape)(x), x)
    assert upsample("scale: 2", 1, shape).top_shapes([shape]) == [(1, 1, 4, 4)]
