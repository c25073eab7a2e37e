"""Layers with their own implementation on a CPU, because torch is slow there: the numbers and gradients equal
torch's."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.layers.lrn import LRN
from netdsl.layers.pooling import Pooling


def pooling(settings: str, shape: tuple[int, ...]) -> Pooling:
    return Pooling(from_text(f"top: 't' pooling_param {{ {settings} }}", pb.LayerParameter), [shape])


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        ("kernel_size: 2 stride: 2", (2, 2)),
        ("kernel_size: 3 stride: 2", (3, 2)),
        ("kernel_size: 3 stride: 1 pad: 1", (3, 1, 1)),
        ("kernel_h: 1 kernel_w: 3 stride_h: 2 stride_w: 3", ((1, 3), (2, 3))),
        ("kernel_size: 1 stride: 2", (1, 2)),
    ],
)
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_maxima_and_their_gradients_equal_torchs(settings, arguments, memory):
    shape = (2, 5, 9, 7)
    x = torch.randint(0, 4, shape).float().contiguous(memory_format=memory).requires_grad_()  # many values are equal
    expected = F.max_pool2d(x.contiguous(), *arguments, ceil_mode=True)
    layer, weights = pooling(settings, shape), torch.randn(expected.shape)
    with torch.no_grad():
        found = layer(x)
    assert torch.equal(found, expected) and found.is_contiguous(memory_format=memory)
    assert found.data_ptr() != x.data_ptr()
    learning = layer(x)
    assert torch.equal(learning, expected) and learning.is_contiguous(memory_format=memory)
    gradients = [torch.autograd.grad((top * weights).sum(), x)[0] for top in (learning, expected)]
    torch.testing.assert_close(*gradients)  # where windows overlap, the order of sums differs


def test_normalizing_in_blocks_equals_normalizing_at_once():
    shape = (2, 5, 230, 229)  # one item exceeds a block
    x = torch.randn(shape, requires_grad=True)
    layer = LRN(from_text("top: 't' lrn_param { local_size: 5 alpha: 0.5 k: 2 }", pb.LayerParameter), [shape])
    expected = F.local_response_norm(x, 5, 0.5, 0.75, 2)
    top, weights = layer(x), torch.randn(shape)
    torch.testing.assert_close(top, expected)  # torch computes a power where netdsl computes roots
    gradients = [torch.autograd.grad((each * weights).sum(), x)[0] for each in (top, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)


def test_many_small_items_are_normalized_in_few_blocks_with_a_remainder():
    shape = (11, 6, 120, 91)  # four items form a block, and three are left over
    x = torch.randn(shape)
    layer = LRN(from_text("top: 't' lrn_param { local_size: 3 alpha: 0.5 }", pb.LayerParameter), [shape])
    torch.testing.assert_close(layer(x), F.local_response_norm(x, 3, 0.5, 0.75, 1))


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
@pytest.mark.parametrize("region", ["ACROSS_CHANNELS", "WITHIN_CHANNEL"])
def test_squares_may_exceed_half_precision(dtype, region):
    shape = (2, 5, 4, 3)
    layer = LRN(from_text(f"top: 't' lrn_param {{ local_size: 3 norm_region: {region} }}", pb.LayerParameter), [shape])
    x = (torch.randn(shape) * 1000).to(dtype)
    found = layer(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, layer(x.float()).to(dtype))
