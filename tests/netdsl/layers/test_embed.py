"""Embed: rows by number."""

from __future__ import annotations

import pytest
import torch

from netdsl.errors import NetError
from tests.nets import layer_of


def embed(settings, shape=(2, 3)):
    text = f"embed_param {{ weight_filler {{ type: 'xavier' }} {settings} }}"
    layer = layer_of("Embed", text, shape)
    layer.allocate("cpu", {})
    return layer


def test_every_number_names_a_row():
    layer = embed("num_output: 4 input_dim: 5 bias_filler { value: 0.5 }")
    x = torch.tensor([[4.0, 0.0, 4.0], [1.0, 2.0, 0.0]])
    y = layer(x)
    assert y.shape == (2, 3, 4)
    assert (y[0, 1] == layer.weight[0] + 0.5).all()
    y.sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [2, 1, 1, 0, 2]


def test_numbers_stay_numbers_in_double_precision_and_without_bias():
    layer = embed("num_output: 4 input_dim: 5 bias_term: false").double()
    assert layer.blob_names() == ["weight"]
    assert (layer(torch.tensor([3.0])) == layer.weight[3]).all()


@pytest.mark.parametrize(("settings", "message"), [("input_dim: 3", "num_output"), ("num_output: 3", "input_dim")])
def test_both_sizes_are_needed(settings, message):
    with pytest.raises(NetError, match=f"{message} is missing"):
        embed(settings)
