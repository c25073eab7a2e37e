"""SpaceToBatchND, BatchToSpaceND, DepthToSpace and UpsampleDarknet: layers that rearrange values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

DRAW = np.random.default_rng(3)
PADDED = "{ block_shape: [2, 3] %s: [1, 2, 0, 1] }"


def some(*shape):
    return torch.from_numpy(DRAW.normal(size=shape)).requires_grad_()


def test_space_to_batch_rearranges_values():
    x = some(2, 5, 8, 3)
    layer = layer_of("SpaceToBatchND", f"space_to_batch_nd_param {PADDED % 'paddings'}", x.shape)
    padded = np.zeros((2, 8, 9, 3))
    padded[:, 1:6, :8] = x.detach()
    wanted = np.zeros((2 * 6, 4, 3, 3))
    for n, h, w, c in np.ndindex(*padded.shape):
        wanted[(h % 2 * 3 + w % 3) * 2 + n, h // 2, w // 3, c] = padded[n, h, w, c]
    np.testing.assert_array_equal(layer(x).detach(), wanted)
    assert layer.top_shapes([x.shape]) == [(12, 4, 3, 3)]
    assert torch.autograd.gradcheck(layer, (x,))


def test_batch_to_space_is_the_inverse():
    x = some(2, 5, 8, 3)
    apart = layer_of("SpaceToBatchND", f"space_to_batch_nd_param {PADDED % 'paddings'}", x.shape)(x)
    layer = layer_of("BatchToSpaceND", f"batch_to_space_nd_param {PADDED % 'crops'}", apart.shape)
    assert torch.equal(layer(apart), x)
    assert torch.autograd.gradcheck(layer, (apart.detach().requires_grad_(),))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            "SpaceToBatchND",
            "block_shape: 2 paddings: [0, 0]",
            "block_shape 2 doesn't divide the padded size 5 of axis 1",
        ),
        ("SpaceToBatchND", "block_shape: 2 paddings: 1", "and two paddings for each"),
        ("SpaceToBatchND", "", "block_shape is .*; set 1 or more for each axis"),
        ("BatchToSpaceND", "block_shape: 4 crops: [0, 0]", "6 must be a multiple of the 4 positions in a block"),
        ("BatchToSpaceND", "block_shape: 2 crops: [5, 5]", "crops remove everything along axis 1"),
        ("BatchToSpaceND", "block_shape: [1, 1, 1] crops: [0, 0, 0, 0, 0, 0]", "more than 3 axes"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(kind, settings, message):
    block = {"SpaceToBatchND": "space_to_batch_nd_param", "BatchToSpaceND": "batch_to_space_nd_param"}[kind]
    with pytest.raises(NetError, match=message):
        layer_of(kind, f"{block} {{ {settings} }}", (6, 5, 3))


@pytest.mark.parametrize("order", ["NCHW", "DCR", "CRD", "NHWC"])
def test_depth_to_space_rearranges_values(order):
    x = some(2, 12, 3, 5)
    wanted = np.zeros((2, 3, 6, 10))
    for n, c, h, w in np.ndindex(*wanted.shape):
        place = h % 2 * 2 + w % 2
        channel = c * 4 + place if order == "CRD" else place * 3 + c
        wanted[n, c, h, w] = x[n, channel, h // 2, w // 2].item()
    bottom = x.permute(0, 2, 3, 1).contiguous() if order == "NHWC" else x
    layer = layer_of("DepthToSpace", f"depth_to_space_param {{ block_size: 2 data_format: '{order}' }}", bottom.shape)
    top = layer(bottom).permute(0, 3, 1, 2) if order == "NHWC" else layer(bottom)
    np.testing.assert_array_equal(top.detach(), wanted)
    assert torch.autograd.gradcheck(layer, (bottom.detach().requires_grad_(),))


def test_depth_to_space_refuses_other_sizes_and_orders():
    with pytest.raises(NetError, match="the square of block_size 5 doesn't divide the 12 channels"):
        layer_of("DepthToSpace", "depth_to_space_param { block_size: 5 data_format: 'NCHW' }", (2, 12, 3, 5))
    with pytest.raises(NetError, match="data_format is 'HWCN'; set it to one of NHWC"):
        layer_of("DepthToSpace", "depth_to_space_param { block_size: 2 data_format: 'HWCN' }", (2, 12, 3, 5))


def test_upsample_darknet_repeats_in_squares():
    x = some(2, 3, 4, 5)
    layer = layer_of("UpsampleDarknet", "upsample_darknet_param { stride: 3 }", x.shape)
    wanted = np.kron(x.detach(), np.ones((1, 1, 3, 3)))
    np.testing.assert_array_equal(layer(x).detach(), wanted)
    assert torch.autograd.gradcheck(layer, (x,))
    with pytest.raises(ShapeError, match="images with 4 axes"):
        layer_of("UpsampleDarknet", "", (2, 3))
