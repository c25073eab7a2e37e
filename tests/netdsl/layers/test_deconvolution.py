"""Deconvolution compared with loops over every input."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.nets import layer_of


def deconvolution(settings, shape):
    text = f"convolution_param {{ weight_filler {{ type: 'xavier' }} {settings} }}"
    layer = layer_of("Deconvolution", text, shape)
    layer.allocate("cpu", {})
    return layer.double()


def naive(x, weight, bias, stride, begin, end, dilation, group):
    axes = zip(x.shape[2:], weight.shape[2:], stride, dilation, strict=True)
    sizes = [step * (size - 1) + hole * (kernel - 1) + 1 for size, kernel, step, hole in axes]
    inputs, outputs = weight.shape[0] // group, weight.shape[1]
    y = np.zeros((x.shape[0], outputs * group, *sizes))
    for n, channel in np.ndindex(*x.shape[:2]):
        first = channel // inputs * outputs
        for place in np.ndindex(*x.shape[2:]):
            for tap in np.ndindex(*weight.shape[2:]):
                to = [at * step + k * hole for at, step, k, hole in zip(place, stride, tap, dilation, strict=True)]
                y[(n, slice(first, first + outputs), *to)] += x[(n, channel, *place)] * weight[(channel, ..., *tap)]
    kept = [slice(cut, size - other) for cut, other, size in zip(begin, end, sizes, strict=True)]
    return y[(slice(None), slice(None), *kept)] + bias


@pytest.mark.parametrize(
    ("settings", "shape", "stride", "begin", "end", "dilation", "group"),
    [
        ("kernel_size: 3 stride: 2 pad: 1", (2, 4, 5), [2], [1], [1], [1], 1),
        ("kernel_size: [2, 3] stride: [3, 2] group: 2", (2, 4, 3, 5), [3, 2], [0, 0], [0, 0], [1, 1], 2),
        ("kernel_h: 3 kernel_w: 4 dilation: 2 pad_w: 1", (2, 4, 3, 5), [1, 1], [0, 1], [0, 1], [2, 2], 1),
        ("kernel_size: 3 stride: 2 pad_l: 2 pad_b: 1 pad_t: 2", (1, 2, 3, 4), [2, 2], [2, 2], [1, 0], [1, 1], 1),
        (
            "kernel_size: 2 stride: [1, 2, 3] pad: [0, 1, 1]",
            (1, 2, 2, 3, 2),
            [1, 2, 3],
            [0, 1, 1],
            [0, 1, 1],
            [1] * 3,
            1,
        ),
    ],
)
def test_every_input_is_spread_over_a_window(settings, shape, stride, begin, end, dilation, group):
    layer = deconvolution(f"num_output: 6 bias_filler {{ value: 0.5 }} {settings}", shape)
    x = torch.randn(shape, dtype=torch.double)
    wanted = naive(x.numpy(), layer.weight.detach().numpy(), 0.5, stride, begin, end, dilation, group)
    np.testing.assert_allclose(layer(x).detach(), wanted, atol=1e-12)


def test_a_bilinear_filler_interpolates():
    """This is the usual way to enlarge by 2. A straight line stays straight."""
    settings = (
        "num_output: 3 group: 3 kernel_size: 4 stride: 2 pad: 1 bias_term: false weight_filler { type: 'bilinear' }"
    )
    text = f"convolution_param {{ {settings} }}"
    layer = layer_of("Deconvolution", text, (1, 3, 4, 6))
    layer.allocate("cpu", {})
    line = torch.arange(6.0).expand(1, 3, 4, 6)
    inner = layer(line)[:, :, 1:-1, 1:-1]
    torch.testing.assert_close(inner, torch.arange(0.25, 5, 0.5).expand_as(inner))
