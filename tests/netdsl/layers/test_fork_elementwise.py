"""ReLU6, Axpy, Mul, ShuffleChannel, SpatialDropout and Reorg: small layer types of forks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layers.axpy import Axpy
from netdsl.layers.mul import Mul
from netdsl.layers.relu6 import ReLU6
from netdsl.layers.reorg import Reorg
from netdsl.layers.shuffle_channel import ShuffleChannel
from netdsl.layers.spatial_dropout import SpatialDropout
from tests.nets import layer_of


def make(kind, settings, *shapes):
    return layer_of(kind.__name__, settings, *shapes)


DRAW = np.random.default_rng(1)


def some(*shape):
    return torch.from_numpy(DRAW.normal(size=shape)).requires_grad_()


@pytest.mark.parametrize(("settings", "slope"), [("", 0), ("relu6_param { negative_slope: 0.5 }", 0.5)])
def test_relu6_is_clipped_at_6(settings, slope):
    x = torch.tensor([-8.0, -1, 0, 2, 6, 7], dtype=torch.double, requires_grad=True)
    top = make(ReLU6, settings, (6,))(x)
    top.sum().backward()
    assert top.tolist() == [-8 * slope, -slope, 0, 2, 6, 6]
    assert x.grad.tolist() == [slope, slope, slope, 1, 0, 0]  # no gradient at 6


def test_axpy_equals_its_formula():
    a, x, y = some(2, 3, 1, 1), some(2, 3, 4, 5), some(2, 3, 4, 5)
    layer = make(Axpy, "", a.shape, x.shape, y.shape)
    wanted = np.zeros(x.shape)
    for n, c, h, w in np.ndindex(*x.shape):
        wanted[n, c, h, w] = a[n, c, 0, 0].item() * x[n, c, h, w].item() + y[n, c, h, w].item()
    np.testing.assert_allclose(layer(a, x, y).detach(), wanted)
    assert torch.autograd.gradcheck(layer, (a, x, y))
    assert torch.equal(layer(a.flatten(1), x, y), layer(a, x, y))


@pytest.mark.parametrize(
    "shapes", [[(2, 3, 4, 5)] * 3, [(2, 4, 1, 1), (2, 3, 4, 5), (2, 3, 4, 5)], [(2, 3), (2, 3, 4, 5), (2, 3, 5, 4)]]
)
def test_axpy_refuses_wrong_shapes(shapes):
    with pytest.raises(ShapeError, match="shape"):
        make(Axpy, "", *shapes)


def test_mul_equals_its_formula():
    a, b = some(2, 1, 4, 5), some(3, 1, 5)
    layer = make(Mul, "", a.shape, b.shape)
    wanted = np.zeros((2, 3, 4, 5))
    for n, c, h, w in np.ndindex(2, 3, 4, 5):
        wanted[n, c, h, w] = a[n, 0, h, w].item() * b[c, 0, w].item()
    np.testing.assert_allclose(layer(a, b).detach(), wanted)
    assert torch.autograd.gradcheck(layer, (a, b))
    with pytest.raises(ShapeError, match="equal lengths or a length of 1"):
        make(Mul, "", (2, 3), (2, 2))


def shuffle(group, shape):
    settings = pb.ShuffleChannelParameter(group=group)
    return ShuffleChannel(pb.LayerParameter(type="ShuffleChannel", top=["t"], shuffle_channel_param=settings), [shape])


def test_shuffle_channel_reorders_channels():
    x = some(2, 6, 3, 2)
    layer = shuffle(3, x.shape)
    top = layer(x)
    for group in range(3):
        for k in range(2):
            assert torch.equal(top[:, k * 3 + group], x[:, group * 2 + k])
    assert torch.autograd.gradcheck(layer, (x,))


@pytest.mark.parametrize("group", [0, 3])
def test_shuffle_channel_needs_a_group_that_fits(group):
    with pytest.raises(NetError, match=f"group {group} doesn't divide the 7 channels"):
        shuffle(group, (2, 7))


@pytest.mark.parametrize(
    "settings", ["spatial_dropout_param { dropout_ratio: 0.25 }", "dropout_param { dropout_ratio: 0.25 }"]
)
def test_spatial_dropout_drops_whole_channels(settings):
    torch.manual_seed(1)
    layer, x = make(SpatialDropout, settings, (40, 50, 2, 3)), torch.ones(40, 50, 2, 3)
    top = layer.train()(x)
    channels = top.flatten(2)
    assert torch.equal(channels.amin(2), channels.amax(2))
    assert (top == 0).flatten(1).any(1).all()
    assert (top != 0).flatten(1).any(1).all()
    assert top.unique().tolist() == pytest.approx([0, 4 / 3])
    assert abs(float((top == 0).float().mean()) - 0.25) < 0.05  # five standard deviations
    assert torch.equal(layer.eval()(x), x)


def test_spatial_dropout_as_the_python_layer_of_enet():
    settings = """python_param { module: 'spatial_dropout' layer: 'SpatialDropoutLayer'
        param_str: "{'phase': '%s', 'p': 0.5}" }"""
    x = torch.ones(8, 8, 2, 2)
    assert set(make(SpatialDropout, settings % "TRAIN", x.shape).eval()(x).unique().tolist()) == {0, 2}
    assert make(SpatialDropout, settings % "TEST", x.shape)(x).unique().tolist() == [2]
    with pytest.raises(NetError, match="write it like"):
        make(SpatialDropout, "python_param { param_str: '0.5' }", x.shape)
    with pytest.raises(NetError, match="less than 1"):
        make(SpatialDropout, settings.replace("0.5", "1.5") % "TEST", x.shape)


def darknet(x, stride, reverse):
    """Reorder values with darknet's loop over flat positions."""
    count, channels, height, width = x.shape
    few, flat = channels // stride**2, x.flatten()
    top = np.zeros(x.size)
    for n, c, h, w in np.ndindex(*x.shape):
        block = c // few
        many = w * stride + block % stride
        many += width * stride * (h * stride + block // stride + height * stride * (c % few + few * n))
        here = w + width * (h + height * (c + channels * n))
        if reverse:
            top[many] = flat[here]
        else:
            top[here] = flat[many]
    if reverse:
        return top.reshape(count, few, height * stride, width * stride)
    return top.reshape(count, channels * stride**2, height // stride, width // stride)


@pytest.mark.parametrize(("stride", "reverse", "shape"), [
    (2, False, (2, 8, 2, 4)), (3, False, (1, 9, 3, 6)), (2, True, (1, 8, 3, 2)), (1, False, (2, 3, 4, 5)),
])  # fmt: skip
def test_reorg_equals_darknets_loop(stride, reverse, shape):
    x = some(*shape)
    layer = make(Reorg, f"reorg_param {{ stride: {stride} reverse: {str(reverse).lower()} }}", shape)
    np.testing.assert_array_equal(layer(x).detach(), darknet(x.detach().numpy(), stride, reverse))
    assert torch.autograd.gradcheck(layer, (x,))


@pytest.mark.parametrize(("settings", "shape", "says"), [
    ("", (2, 8, 4, 6), "stride is 0; set it to 1"),
    ("stride: 2", (2, 6, 4, 6), "aren't a multiple of 2x2"),
    ("stride: 2", (2, 8, 5, 6), "doesn't divide"),
    ("stride: 2", (2, 8), "4 axes"),
])  # fmt: skip
def test_reorg_refuses_wrong_shapes(settings, shape, says):
    with pytest.raises(NetError, match=says):
        make(Reorg, f"reorg_param {{ {settings} }}", shape)
