"""Pooling compared with loops that state Caffe's rules one by one."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers.pooling import Pooling
from tests.nets import layer_of


def pooling(settings, shape=(2, 3, 7, 6), tops=1) -> Pooling:
    text = f"pooling_param {{ {settings} }}" + "top: 't' " * tops
    return layer_of("Pooling", text, shape)


def spans(size, kernel, stride, begin, end, ceil, padded):
    """Return the start and the end of every window along an axis, in the padded bottom."""
    room = (size + begin + end - kernel) / stride
    count = (math.ceil(room) if ceil else math.floor(room)) + 1
    if padded and (count - 1) * stride >= size + begin:
        count -= 1
    starts = [index * stride - begin for index in range(count)]
    return [(start, min(start + kernel, size + end)) for start in starts]


def naive(x, top, rows, columns, method):
    """Return values, places, and the gradient of the bottom for that of the top."""
    values, places, bottom = np.zeros(top.shape), np.zeros(top.shape), np.zeros(x.shape)
    for n, c in np.ndindex(*x.shape[:2]):
        for (i, (h0, h1)), (j, (w0, w1)) in product(enumerate(rows), enumerate(columns)):
            inside = [(h, w) for h in range(max(h0, 0), min(h1, x.shape[2]))
                      for w in range(max(w0, 0), min(w1, x.shape[3]))]  # fmt: skip
            if method == "MAX":
                best = max(inside, key=lambda at: x[n, c][at])  # the first of several
                values[n, c, i, j], places[n, c, i, j] = x[n, c][best], best[0] * x.shape[3] + best[1]
                bottom[n, c][best] += top[n, c, i, j]
                continue
            area = len(inside) if method in ("AVE_EXC_PAD", "AVE_TF") else (h1 - h0) * (w1 - w0)
            values[n, c, i, j] = sum(x[n, c][at] for at in inside) / area
            for at in inside:
                bottom[n, c][at] += top[n, c, i, j] / area
    return values, places, bottom


def some_settings(count):
    """Return settings whose windows all overlap the bottom."""
    draw = random.Random(1)
    while count:
        sizes = [draw.randint(3, 8) for _ in "hw"]
        kernel, stride = [draw.randint(1, 5) for _ in "hw"], [draw.randint(1, 5) for _ in "hw"]
        ceil, sided = draw.random() < 0.6, draw.random() < 0.3
        begin = [draw.randrange(size) if draw.random() < 0.6 else 0 for size in kernel]
        end = [draw.randrange(size) for size in kernel] if sided else begin
        axes = [spans(*each, ceil, any(begin + end)) for each in zip(sizes, kernel, stride, begin, end, strict=True)]
        if all(axis and axis[-1][0] < size for axis, size in zip(axes, sizes, strict=True)):
            count -= 1
            pad = dict(zip(("pad_t", "pad_l", "pad_b", "pad_r"), begin + end, strict=True))
            pad = {"pad_h": begin[0], "pad_w": begin[1]} if begin == end else pad
            numbers = dict(zip(("kernel_h", "kernel_w", "stride_h", "stride_w"), kernel + stride, strict=True)) | pad
            given = " ".join(f"{name}: {value}" for name, value in numbers.items())
            yield sizes, f"{given} round_mode: {'CEIL' if ceil else 'FLOOR'}", axes


@pytest.mark.parametrize("method", ["MAX", "AVE", "AVE_EXC_PAD", "AVE_TF"])
def test_windows_and_gradients_are_caffes(method):
    numbers = np.random.default_rng(2)
    for sizes, settings, axes in some_settings(25):
        # few different values, so that a window often contains its maximum twice
        x = torch.from_numpy(numbers.integers(-2, 3, (1, 2, *sizes)).astype(np.float64)).requires_grad_()
        layer = pooling(f"{settings} pool: {method}", x.shape, tops=1 + (method == "MAX"))
        y, mask = layer(x) if method == "MAX" else (layer(x), None)
        top = numbers.standard_normal(y.shape)
        assert y.shape == (1, 2, len(axes[0]), len(axes[1])), settings
        values, places, bottom = naive(x.detach().numpy(), top, *axes, method)
        np.testing.assert_allclose(y.detach(), values, atol=1e-12, err_msg=settings)
        np.testing.assert_allclose(torch.autograd.grad(y, x, torch.from_numpy(top))[0], bottom, atol=1e-12)
        if mask is not None:
            np.testing.assert_array_equal(mask, places, settings)


def test_a_last_window_beyond_the_bottom_is_empty():
    """Caffe doesn't clip it if there is no padding."""
    x = torch.rand(1, 1, 4, 6)
    y, mask = pooling("kernel_size: 1 stride: 2", x.shape, tops=2)(x)
    assert y.shape == (1, 1, 3, 4)
    assert (y[..., :2, :3] == x[..., ::2, ::2]).all()
    assert (y[..., 2, :] < -1e38).all()
    assert (mask[..., 2, :] == -1).all()


@pytest.mark.parametrize(("pool", "wanted"), [("MAX", torch.amax), ("AVE", torch.mean)])
def test_global_pooling_follows_a_reshaped_bottom(pool, wanted):
    layer = pooling(f"pool: {pool} global_pooling: true")
    for shape in ((2, 3, 7, 6), (1, 3, 4, 9)):
        x = torch.rand(shape)
        torch.testing.assert_close(layer(x), wanted(x, (2, 3), keepdim=True))


@pytest.mark.parametrize(
    ("settings", "rows"),
    [("", 4), ("round_mode: FLOOR", 3), ("ceil_mode: false", 3), ("ceil_mode: true round_mode: FLOOR", 4)],
)
def test_sizes_are_rounded_as_in_caffe(settings, rows):
    assert pooling(f"kernel_size: 2 stride: 2 {settings}").top_shapes([(1, 1, 7, 7)]) == [(1, 1, rows, rows)]


def test_averages_can_leave_the_padding_out():
    layer = pooling("pool: AVE kernel_size: 3 pad: 1 stride: 2 avg_include_pad: false")
    torch.testing.assert_close(layer(torch.ones(2, 3, 7, 6)), torch.ones(2, 3, 4, 4))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_averages_have_the_same_gradient():
    """The last window extends beyond the border, as in Caffe's CIFAR-10 nets."""
    layer = pooling("pool: AVE kernel_size: 3 stride: 2", (1, 2, 8, 7))
    x = torch.randn(1, 2, 8, 7, requires_grad=True)
    top = torch.randn(1, 2, 4, 3)
    eager = torch.autograd.grad(layer(x), x, top)
    torch.testing.assert_close(torch.autograd.grad(torch.compile(layer)(x), x, top), eager)


def test_stochastic_pooling_draws_in_proportion_in_training():
    layer = pooling("pool: STOCHASTIC kernel_size: 2 stride: 2")
    x = torch.tensor([[1.0, 3.0, 5.0], [4.0, 0.0, 0.0]]).expand(4000, 1, 2, 3).clone().requires_grad_()
    y = layer(x)
    left, right = y[..., 0].flatten(), y[..., 1].flatten()
    assert {*left.tolist()} == {1, 3, 4}  # a 0 is never drawn
    assert (right == 5).all()
    for value in (1, 3, 4):
        assert abs((left == value).double().mean() - value / 8) < 0.05  # six standard deviations
    y.sum().backward()
    # the gradient goes to the value that was drawn
    assert ((x.grad[:, 0, :, :2].flatten(1) * x[:, 0, :, :2].flatten(1)).sum(1) == left).all()


def test_stochastic_pooling_weighs_in_testing():
    layer = pooling("pool: STOCHASTIC kernel_size: 2 stride: 2").eval()
    x = torch.tensor([[1.0, 3.0, 0.0], [4.0, 0.0, 0.0]]).expand(1, 1, 2, 3).clone().requires_grad_()
    y = layer(x)
    torch.testing.assert_close(y, torch.tensor([26 / 8, 0.0]).expand(1, 1, 1, 2))  # a window of zeros gives 0
    y.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", "kernel_size is given 0 times"),
        ("kernel_size: 0", "kernel is .*; set it to 1 or more"),
        ("kernel_size: 2 stride: 0", "stride is .*; set it to 1 or more"),
        ("kernel_h: 2", "kernel_w is missing"),
        ("kernel_size: 2 kernel_h: 2 kernel_w: 2", "kernel_size is set too"),
        ("kernel_size: 2 stride_w: 2", "stride_h is missing"),
        ("kernel_size: 3 pad_h: 1", "pad_w is missing"),
        ("kernel_size: 3 pad: 3", "pad 3 isn't smaller than kernel 3"),
        ("kernel_h: 3 kernel_w: 2 pad: 2", "pad 2 isn't smaller than kernel 3 x 2"),
        ("kernel_size: 3 pad_b: 3", "pad 3 x 0 isn't smaller"),
        ("kernel_size: 3 pad: 1 pad_l: 1", "pad_l, pad_r, pad_t and pad_b can't be used"),
        ("pool: STOCHASTIC kernel_size: 3 pad: 1", "STOCHASTIC pooling doesn't support padding"),
        ("global_pooling: true kernel_size: 3", "remove kernel_size"),
        ("global_pooling: true stride: 2", "needs stride 1"),
        ("global_pooling: true pad_h: 1 pad_w: 0", "pad 0"),
        ("kernel_size: 2 pool: DEF", "DEF belongs to a fork"),
        ("kernel_size: 2 saturate: Signed", "saturate"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(NetError, match=message):
        pooling(settings)


def test_only_max_has_a_mask_and_images_have_four_axes():
    with pytest.raises(NetError, match="only MAX"):
        pooling("pool: AVE kernel_size: 2", tops=2)
    with pytest.raises(ShapeError, match="4 axes"):
        pooling("kernel_size: 2", (3, 7, 6))


@pytest.mark.parametrize(
    ("size", "settings", "top"),
    [
        (5, "kernel_size: 3 stride: 2", [2, 4, 5]),
        (4, "kernel_size: 3 stride: 2", [3, 4]),
        (4, "kernel_size: 2", [2, 3, 4, 4]),
        (4, "kernel_size: 3 stride: 2 ceil_mode: true", [3, 4]),
        (4, "kernel_size: 3 stride: 2 pool: AVE", [2, 7 / 3]),  # values beyond the bottom count
    ],
)
def test_synopsys_pads_as_tensorflow_does(size, settings, top):
    shape = (1, 1, 1, size)
    layer = pooling(f"pad_type: 1 {settings}", (1, 1, 1, 9))
    x = torch.arange(1.0, size + 1).view(shape)
    found = layer(x) * (3 if "AVE" in settings else 1)  # two of three rows are padding
    assert found.flatten().tolist() == pytest.approx(top)
    assert layer.top_shapes([shape]) == [(1, 1, 1, len(top))]
