"""One buffer under all blobs: the blobs keep their values, and each group has one learning rate."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from netdsl.errors import SolverError
from netdsl.solver.flat import FlatGradients, FlatWeights

SHARED = """
layer { name: "d" type: "Input" top: "x" input_param { shape { dim: 6 dim: 3 } } }
layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" lr_mult: 3 } param { lr_mult: 0 }
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "n" type: "BatchNorm" bottom: "a" top: "a" }
layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" param { name: "w" %s }
        inner_product_param { num_output: 3 bias_term: false } }
layer { name: "c" type: "InnerProduct" bottom: "b" top: "c" param { lr_mult: 3 } param { lr_mult: 3 decay_mult: 0 }
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "s" type: "Reduction" bottom: "c" top: "s" loss_weight: 1 }
"""


def test_blobs_keep_their_values_and_follow_the_buffer(regression) -> None:
    net = regression(text=SHARED % "")
    layers = dict(zip(net.module.keys, net.built.layers, strict=True))
    before = {name: [blob.detach().clone() for blob in layer.blob_tensors()] for name, layer in layers.items()}
    flat = FlatWeights(net.built)
    for name, layer in layers.items():
        for blob, values in zip(layer.blob_tensors(), before[name], strict=True):
            assert torch.equal(blob, values)
    flat.buffer.fill_(7)
    assert all((blob == 7).all() for layer in layers.values() for blob in layer.blob_tensors())


def test_shared_blobs_are_stored_once_in_caffes_order(regression) -> None:
    flat = FlatWeights(regression(text=SHARED % "").built)
    assert [(blob.layer, tuple(blob.tensor.shape)) for blob in flat.blobs] == [
        *[("a", (3, 3)), ("a", (3,))],
        *[("n", (3,)), ("n", (3,)), ("n", (1,))],
        *[("c", (5, 3)), ("c", (5,))],
    ]


def test_blobs_with_one_learning_rate_are_contiguous_and_the_rest_follow(regression) -> None:
    flat = FlatWeights(regression(text=SHARED % "").built)
    paces = [(group.lr_mult, group.decay_mult, [blob.layer for blob in group.blobs]) for group in flat.groups]
    assert paces == [(3, 1, ["a", "c"]), (3, 0, ["c"])]
    assert all(blob.start >= flat.learned_size for blob in flat.blobs if not blob.learns)
    assert [blob.layer for blob in flat.blobs if not blob.learns] == ["a", "n", "n", "n"]
    starts = sorted((blob.start, blob.stop) for blob in flat.blobs)
    assert all(stop <= start for (_, stop), (start, _) in pairwise(starts))


def test_gradients_are_added_up_in_one_buffer_with_the_weights_layout(regression) -> None:
    net = regression()
    weights = FlatWeights(net.built)
    gradients = FlatGradients(weights)
    gradients.clear()
    for _ in range(2):
        net.forward_backward()
    expected = torch.zeros_like(gradients.buffer)
    for batch in range(2):
        net.seek({"d": batch})
        found = torch.autograd.grad(net.loss(), [blob.tensor for blob in weights.blobs])
        for blob, gradient in zip(weights.blobs, found, strict=True):
            weights.view(expected, blob).add_(gradient)
    assert expected.any()
    torch.testing.assert_close(gradients.buffer, expected)
    gradients.clear()
    assert not any(blob.tensor.grad.any() for blob in weights.blobs)


def test_gradients_that_other_code_stored_count(regression) -> None:
    weights = FlatWeights(regression().built)
    gradients = FlatGradients(weights)
    gradients.buffer.fill_(5)
    weight, bias = (blob.tensor for blob in weights.blobs)
    weight.grad, bias.grad = torch.full_like(weight, 3), None
    gradients.gather()
    assert (weight.grad == 3).all() and (bias.grad == 0).all()
    gradients.buffer.fill_(7)
    assert (weight.grad == 7).all() and (bias.grad == 7).all()


def test_a_net_without_blobs_cannot_be_trained(regression) -> None:
    text = SHARED[: SHARED.index('layer { name: "a"')]
    with pytest.raises(SolverError, match="nothing to learn"):
        FlatWeights(regression(text=text).built)
