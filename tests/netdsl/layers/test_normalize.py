"""Normalize compared with plain sums, and Caffe's gradient for channels with separate scales."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from netdsl.layers import LAYERS
from tests.nets import layer_of


def normalize(settings: str, shape: tuple[int, ...]) -> Layer:
    text = f'bottom: "x" top: "y" norm_param {{ {settings} }}'
    layer = layer_of("Normalize", text, shape)
    layer.allocate("cpu", {})
    return layer.double()


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3)])
def test_lengths_and_gradients_equal_plain_sums(across, shared, shape):
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


def test_the_scale_starts_at_one_or_the_fillers_value():
    assert normalize("", (2, 3, 4, 5)).scale.item() == 1
    assert normalize("channel_shared: false scale_filler { value: 20 }", (2, 3, 4, 5)).scale.tolist() == [20] * 3
    assert normalize("scale_filler { }", (2, 3, 4, 5)).scale.item() == 0


def test_unsupported_settings_are_refused():
    with pytest.raises(ShapeError, match="2 axes or more"):
        normalize("", (3,))
    with pytest.raises(NetError, match="normalize_type"):
        normalize('normalize_type: "L1"', (2, 3))


def of_fork(settings: str, shape: tuple[int, ...], dialect: str = "", tops: int = 1) -> Layer:
    message = from_text(f'type: "Normalize" bottom: "x" {settings}', pb.LayerParameter)
    message.top.extend("yn"[:tops])
    message.dialects.extend([dialect] if dialect else [])
    layer = LAYERS["Normalize"](message, [shape])
    layer.allocate("cpu", {})
    return layer


@pytest.mark.parametrize(
    ("settings", "dialect"), [("", "happynear"), ("", "happynear-ms"), ("normalize_param { }", "")]
)
def test_happynear_normalizes_every_place(settings, dialect):
    x = torch.tensor([[[[3.0, 1]], [[4, 0]]]])
    layer = of_fork(settings, (1, 2, 1, 2), dialect)
    assert not layer.blob_names()
    torch.testing.assert_close(layer(x).flatten(), torch.tensor([0.6, 1, 0.8, 0]))
    assert of_fork(settings, (1, 2), dialect).top_shapes([(1, 2)]) == [(1, 2, 1, 1)]


def test_happynear_can_divide_by_the_l1_norm_and_output_it():
    x = torch.tensor([[[[3.0]], [[-1]]]], requires_grad=True)
    layer = of_fork('normalize_param { normalize_type: "L1" }', (1, 2, 1, 1), tops=2)
    top, norm = layer(x)
    torch.testing.assert_close(top.flatten(), torch.tensor([0.75, -0.25]))
    torch.testing.assert_close(norm, torch.full((1, 1, 1, 1), 4.0))
    assert not norm.requires_grad
    _, norm = of_fork('normalize_param { normalize_type: "L1" bp_norm: true }', (1, 2, 1, 1), tops=2)(x)
    norm.backward()
    assert x.grad.flatten().tolist() == [1, -1]


def test_happynears_gradient_is_orthogonal_to_the_top():
    x = torch.tensor([[[[3.0]], [[4]]]], requires_grad=True)
    of_fork("normalize_param { }", (1, 2, 1, 1))(x).backward(torch.tensor([[[[1.0]], [[0]]]]))
    # (1 - 0.6 * 0.6) / 5 and (0 - 0.8 * 0.6) / 5
    torch.testing.assert_close(x.grad.flatten(), torch.tensor([0.128, -0.096]))


def test_tsn_divides_items_by_their_length():
    x = torch.tensor([[3.0, 4], [0, 2]])
    layer = of_fork("", (2, 2), "tsn")
    assert not layer.blob_names()
    assert layer.top_shapes([(2, 2)]) == [(2, 2, 1, 1)]
    torch.testing.assert_close(layer(x).flatten(), torch.tensor([0.6, 0.8, 0, 1]))


def test_synopsys_can_add_eps_to_the_root():
    x = torch.tensor([[3.0, 4]])
    layer = of_fork("norm_param { eps: 5 add_eps_before_sqrt: false }", (1, 2))
    assert layer(x).flatten().tolist() == pytest.approx([0.3, 0.4])
    layer = of_fork("norm_param { eps: 11 add_eps_before_sqrt: false across_spatial: false }", (1, 2))
    assert layer(x).flatten().tolist() == pytest.approx([0.5, 4 / 6])


def test_a_net_with_an_ambiguous_fork_gives_a_warning():
    assert "happynear" in of_fork("", (1, 2)).doubts[0].sentence
    for settings, dialect in (("norm_param { }", ""), ("normalize_param { }", ""), ("", "ssd")):
        assert not of_fork(settings, (1, 2), dialect).doubts


def test_settings_of_two_forks_are_refused():
    with pytest.raises(NetError, match="norm_param, of SSD, and normalize_param, of happynear"):
        of_fork("norm_param { } normalize_param { }", (1, 2))
    with pytest.raises(NetError, match="second top"):
        of_fork("norm_param { }", (1, 2), tops=2)
    with pytest.raises(NetError, match="normalize_type is 'L3'"):
        of_fork("normalize_param { normalize_type: 'L3' }", (1, 2))
    with pytest.raises(NetError, match="fix_gradient"):
        of_fork("normalize_param { fix_gradient: true }", (1, 2))
