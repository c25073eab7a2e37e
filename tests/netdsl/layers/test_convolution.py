"""Convolution compared with loops over every output, and the errors for wrong settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of


def convolution(settings, *shapes, kind="Convolution", tops=None):
    names = "top: 't' " * (len(shapes) if tops is None else tops)
    text = f"{names} convolution_param {{ weight_filler {{ type: 'xavier' }} {settings} }}"
    layer = layer_of(kind, text, *shapes)
    layer.allocate("cpu", {})
    return layer.double()


def naive(x, weight, bias, stride, begin, end, dilation, group):
    """Convolve with one axis for the batch, one for channels, and any number of others."""
    padded = np.pad(x, [(0, 0), (0, 0), *zip(begin, end, strict=True)])
    extent = [hole * (size - 1) + 1 for size, hole in zip(weight.shape[2:], dilation, strict=True)]
    sizes = [(size - reach) // step + 1 for size, reach, step in zip(padded.shape[2:], extent, stride, strict=True)]
    y = np.zeros((x.shape[0], weight.shape[0], *sizes))
    inputs, outputs = weight.shape[1], weight.shape[0] // group
    for n, out in np.ndindex(*y.shape[:2]):
        first = out // outputs * inputs
        for place in np.ndindex(*sizes):
            window = [slice(at * step, at * step + reach, hole)
                      for at, step, reach, hole in zip(place, stride, extent, dilation, strict=True)]  # fmt: skip
            y[(n, out, *place)] = (padded[(n, slice(first, first + inputs), *window)] * weight[out]).sum() + bias[out]
    return y


@pytest.mark.parametrize(
    ("settings", "shape", "stride", "begin", "end", "dilation", "group"),
    [
        ("kernel_size: 3 stride: 2 pad: 1", (2, 3, 8), [2], [1], [1], [1], 1),
        ("kernel_h: 3 kernel_w: 2 pad_h: 2", (2, 3, 5, 6), [1, 1], [2, 0], [2, 0], [1, 1], 1),
        ("kernel_size: [2, 3] stride_h: 1 stride_w: 2 group: 2", (2, 4, 5, 6), [1, 2], [0, 0], [0, 0], [1, 1], 2),
        ("kernel_size: 3 dilation: 1 dilation: 2 pad: [0, 2]", (1, 2, 5, 6), [1, 1], [0, 2], [0, 2], [1, 2], 1),
        ("kernel_size: 2 filter_stride: 3", (1, 2, 5, 6), [1, 1], [0, 0], [0, 0], [3, 3], 1),
        ("kernel_size: 2 dilation_h: 3 dilation_w: 1", (1, 2, 5, 6), [1, 1], [0, 0], [0, 0], [3, 1], 1),
        ("kernel_size: 3 stride: 2 pad_r: 1 pad_t: 2", (2, 3, 5, 6), [2, 2], [2, 0], [0, 1], [1, 1], 1),
        ("kernel_size: [1, 2, 3] pad: [0, 1, 2]", (1, 2, 3, 4, 5), [1] * 3, [0, 1, 2], [0, 1, 2], [1] * 3, 1),
        ("kernel_size: 3 engine: CAFFE force_nd_im2col: true", (1, 2, 5, 6), [1, 1], [0, 0], [0, 0], [1, 1], 1),
    ],
)
def test_every_output_is_a_sum_over_a_window(settings, shape, stride, begin, end, dilation, group):
    layer = convolution(f"num_output: 6 bias_filler {{ value: 0.5 }} {settings}", shape)
    x = torch.randn(shape, dtype=torch.double)
    wanted = naive(x.numpy(), layer.weight.detach().numpy(), [0.5] * 6, stride, begin, end, dilation, group)
    np.testing.assert_allclose(layer(x).detach(), wanted, atol=1e-12)
    assert layer.top_shapes([shape, (7, *shape[1:])]) == [wanted.shape, (7, *wanted.shape[1:])]


@pytest.mark.parametrize(("axis", "shape"), [(2, (2, 3, 4, 6, 5)), (0, (4, 6, 5)), (-3, (2, 3, 4, 6, 5)), (1, (2, 4))])
def test_all_axes_before_the_channels_are_batches(axis, shape):
    layer = convolution(f"axis: {axis} num_output: 6 group: 2 kernel_size: {3 if len(shape) > 2 else 1}", shape)
    axis %= len(shape)
    x = torch.randn(shape, dtype=torch.double)
    flat = x.reshape(-1, *shape[axis:]).numpy()
    ones, zeros = [1] * (len(shape) - axis - 1), [0] * (len(shape) - axis - 1)
    wanted = naive(flat, layer.weight.detach().numpy(), [0] * 6, ones, zeros, zeros, ones, 2)
    wanted = wanted.reshape(*shape[:axis], *wanted.shape[1:])
    np.testing.assert_allclose(layer(x).detach(), wanted, atol=1e-12)
    assert layer.top_shapes([shape]) == [wanted.shape]


def test_several_bottoms_share_the_filters():
    shape = (2, 3, 5, 4)
    layer = convolution("num_output: 2 kernel_size: 3", shape, shape)
    one, two = torch.randn(2, *shape, dtype=torch.double)
    tops = layer(one, two)
    torch.testing.assert_close(tops[1], layer(two))
    sum(top.sum() for top in tops).backward()
    together, layer.weight.grad = layer.weight.grad, None
    layer(one + two).sum().backward()
    torch.testing.assert_close(layer.weight.grad, together)


def test_a_layer_without_bias_has_one_blob():
    assert convolution("num_output: 2 kernel_size: 3 bias_term: false", (1, 3, 5, 5)).blob_names() == ["weight"]


@pytest.mark.parametrize("kind", ["DepthwiseConvolution", "ConvolutionDepthwise"])
@pytest.mark.parametrize("settings", ["num_output: 3 group: 3", "num_output: 3", "", "num_output: 6"])
def test_depthwise_types_have_a_group_for_every_channel(kind, settings):
    layer = convolution(f"kernel_size: 3 pad: 1 {settings}", (2, 3, 5, 4), kind=kind)
    outputs = 6 if "6" in settings else 3
    assert layer.weight.shape == (outputs, 1, 3, 3)
    same = convolution(f"kernel_size: 3 pad: 1 num_output: {outputs} group: 3", (2, 3, 5, 4))
    same.load_state_dict(layer.state_dict())
    x = torch.randn(2, 3, 5, 4, dtype=torch.double)
    assert (layer(x) == same(x)).all()


@pytest.mark.parametrize("kind", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("kernel_size: 3", "num_output is missing"),
        ("num_output: 4", "kernel_size is given 0 times"),
        ("num_output: 4 kernel_size: 0", "kernel is .*; set it to 1 or more"),
        ("num_output: 4 kernel_size: 3 stride: 0", "stride is .*; set it to 1 or more"),
        ("num_output: 4 kernel_size: 3 dilation: 0", "dilation is .*; set it to 1 or more"),
        ("num_output: 4 kernel_size: [3, 3, 3]", "kernel_size is given 3 times"),
        ("num_output: 4 kernel_h: 3", "kernel_w is missing"),
        ("num_output: 4 kernel_h: 3 kernel_w: 3 kernel_size: 3", "kernel_size is set too"),
        ("num_output: 4 kernel_size: 3 stride_h: 2", "stride_w is missing"),
        ("num_output: 4 kernel_size: 3 pad: 1 pad_h: 1", "pad is set too"),
        ("num_output: 4 kernel_size: 3 pad: 1 pad_l: 1", "pad_l, pad_r, pad_t and pad_b can't be used"),
        ("num_output: 4 kernel_size: 3 group: 4", "group 4 doesn't divide the 6 channels"),
        ("num_output: 4 kernel_size: 3 group: 3", "group 3 doesn't divide"),
        ("num_output: 4 kernel_size: 3 axis: 4", "axis 4 doesn't exist"),
        ("num_output: 4 kernel_h: 3 kernel_w: 3 axis: 2", "has 1 spatial axes, not 2"),
        ("num_output: 4 kernel_size: 3 pad_r: 1 axis: 2", "has 1 spatial axes, not 2"),
    ],
)
def test_wrong_settings_are_refused(kind, settings, message):
    with pytest.raises(NetError, match=message):
        convolution(settings, (2, 6, 5, 7), kind=kind)


def test_wrong_bottoms_are_refused():
    with pytest.raises(ShapeError, match="same shape"):
        convolution("num_output: 4 kernel_size: 3", (2, 6, 5, 7), (2, 6, 5, 8))
    with pytest.raises(NetError, match="2 bottoms and 1 tops"):
        convolution("num_output: 4 kernel_size: 3", (2, 6, 5, 7), (2, 6, 5, 7), tops=1)
    with pytest.raises(ShapeError, match="4 spatial axes"):
        convolution("num_output: 4 kernel_size: 1", (2, 6, 3, 3, 3, 3))


@pytest.mark.parametrize(
    ("size", "settings", "top"),
    [
        (5, "kernel_size: 3 stride: 2", [1 + 2, 2 + 3 + 4, 4 + 5]),  # one zero before, one after
        (4, "kernel_size: 3 stride: 2", [1 + 2 + 3, 3 + 4]),  # none before
        (5, "kernel_size: 4 stride: 3", [1 + 2 + 3, 3 + 4 + 5]),
        (5, "kernel_size: 1 stride: 2", [1, 3, 5]),
        (4, "kernel_size: 2", [1 + 2, 2 + 3, 3 + 4, 4]),
        (4, "kernel_size: 3 dilation: 2", [2 + 4, 1 + 3, 2 + 4, 3]),  # holes don't count: one zero before, three after
    ],
)
def test_synopsys_pads_as_tensorflow_does(size, settings, top):
    fillers = "num_output: 1 bias_term: false weight_filler { value: 1 }"
    text = f"convolution_param {{ pad_type: 1 {fillers} {settings} }}"
    for shape in [(1, 1, size), (1, 1, 9)]:  # a net can be reshaped
        layer = layer_of("Convolution", text, shape)
        layer.allocate("cpu", {})
        x = torch.arange(1.0, size + 1).view(1, 1, -1)
        assert layer(x).flatten().tolist() == top
        assert layer.top_shapes([(1, 1, size)]) == [(1, 1, len(top))]


def test_two_kinds_of_padding_are_refused():
    for kind, settings, message in [
        ("Convolution", "pad_type: 1 pad: 1", "remove pad, or remove pad_type"),
        ("Convolution", "pad_type: 2", "pad_type is 2"),
        ("Deconvolution", "pad_type: 1", "no fork defines it"),
    ]:
        with pytest.raises(NetError, match=message):
            convolution(f"num_output: 1 kernel_size: 3 {settings}", (1, 1, 5, 5), kind=kind)
