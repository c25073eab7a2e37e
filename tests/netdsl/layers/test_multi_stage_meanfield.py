"""MultiStageMeanfield compared with a plain lattice, point by point, as Adams, Baek and Davis describe it."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers._permutohedral import Lattice, blurred

SETTINGS = "multi_stage_meanfield_param { num_iterations: 3 theta_alpha: 4 theta_beta: 2 theta_gamma: 3 %s }"
SCORES, IMAGE = (2, 4, 3, 5), (2, 3, 3, 5)


def corners(point):
    """Return the corners of the simplex around a point, each with its barycentric weight."""
    count = len(point)
    scaled = [f * (count + 1) * math.sqrt(2 / 3 / (i * (i + 1))) for i, f in enumerate(point, 1)]
    elevated = [sum(scaled[i:]) - (i * scaled[i - 1] if i else 0) for i in range(count + 1)]
    nearest = [(count + 1) * round(value / (count + 1)) for value in elevated]
    distances = [value - near for value, near in zip(elevated, nearest, strict=True)]
    order = sorted(range(count + 1), key=lambda i: -distances[i])
    rank = [order.index(i) + sum(nearest) // (count + 1) for i in range(count + 1)]
    for i in range(count + 1):
        turn = (rank[i] < 0) - (rank[i] > count)
        rank[i], nearest[i] = rank[i] + turn * (count + 1), nearest[i] + turn * (count + 1)
    by_rank = sorted(((elevated[i] - nearest[i]) / (count + 1) for i in range(count + 1)), reverse=True)
    for remainder in range(count + 1):
        key = tuple(nearest[i] + remainder - (count + 1) * (rank[i] > count - remainder) for i in range(count + 1))
        share = by_rank[count - remainder] - by_rank[count - remainder + 1] if remainder else 0
        yield key, share if remainder else 1 + by_rank[count] - by_rank[0]


def plain_blur(values, points):
    """Blur values (channels x points) on a lattice that is a dict."""
    count, table = points.shape[1], defaultdict(lambda: np.zeros(len(values)))
    for index, point in enumerate(points):
        for key, share in corners(point):
            table[key] = table[key] + share * values[:, index]
    for axis in range(count + 1):
        step = np.full(count + 1, -1)
        step[axis] += count + 1
        old, nothing = dict(table), np.zeros(len(values))
        for key in old:
            before, after = (old.get(tuple(np.array(key) + sign * step), nothing) for sign in (1, -1))
            table[key] = old[key] + (before + after) / 2
    found = [sum(share * table[key] for key, share in corners(point)) for point in points]
    return np.stack(found, 1) / (1 + 2.0**-count)


@pytest.mark.parametrize("features", [1, 2, 5])
def test_the_lattice_equals_a_plain_one(features):
    draw = np.random.default_rng(features)
    points, values = draw.normal(size=(40, features)) * 2, draw.uniform(size=(3, 40))
    found = Lattice.of(torch.from_numpy(points)).blur(torch.from_numpy(values))
    # the layer's positions are in single precision
    np.testing.assert_allclose(found, plain_blur(values, points), atol=1e-4)


def test_a_blur_of_near_points_is_bell_shaped():
    points = torch.arange(0, 20, 0.25)[:, None]
    values = torch.zeros(1, len(points))
    values[0, 40] = 1
    found = Lattice.of(points).blur(values)[0]
    bell = torch.exp(-((points[:, 0] - points[40, 0]) ** 2) / 2)
    assert (found / found.max() - bell).abs().max() < 0.1


def test_the_gradient_of_a_blur_is_its_derivative():
    lattice = Lattice.of(torch.rand(30, 3) * 5)
    values = torch.rand(2, 30, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: blurred(x, lattice), (values,))


def made_layer(made, more=""):
    return made("MultiStageMeanfield", SETTINGS % more, SCORES, SCORES, IMAGE).double()


def bottoms():
    draw = np.random.default_rng(3)
    return draw.normal(size=SCORES), draw.normal(size=SCORES), draw.uniform(0, 10, IMAGE)


def test_inference_equals_plain_steps(made):
    layer = made_layer(made)
    blobs = [np.random.default_rng(index).normal(size=(4, 4)) for index in range(3)]
    for blob, values in zip(layer.blob_tensors(), blobs, strict=True):
        blob.data[0, 0] = torch.from_numpy(values)
    scores, first, image = bottoms()
    found = layer(*map(torch.from_numpy, (scores, first, image))).detach().numpy()
    row, column = (place.flatten() for place in np.mgrid[:3, :5])
    for n in range(2):
        near = np.stack((column / 3, row / 3), 1)
        alike = np.stack((column / 4, row / 4, *(image[n].reshape(3, 15) / 2)), 1)
        state = first[n].reshape(4, 15)
        for _ in range(3):
            chances = np.exp(state) / np.exp(state).sum(0)
            messages = [plain_blur(chances, each) / plain_blur(np.ones((1, 15)), each) for each in (near, alike)]
            state = scores[n].reshape(4, 15) - blobs[2] @ (blobs[0] @ messages[0] + blobs[1] @ messages[1])
        np.testing.assert_allclose(found[n].reshape(4, 15), state, atol=1e-3)


def test_gradients_are_derivatives_and_the_image_gets_none(made):
    layer = made_layer(made)
    scores, first, image = (torch.from_numpy(each) for each in bottoms())
    for blob in layer.blob_tensors():
        torch.nn.init.normal_(blob)
    leaves = scores.requires_grad_(), first.requires_grad_(), *layer.parameters()
    assert torch.autograd.gradcheck(lambda *values: layer(*values[:2], image), leaves)
    layer(scores, first, image.requires_grad_()).sum().backward()
    assert image.grad is None


@pytest.mark.parametrize(
    ("settings", "spatial", "bilateral"),
    [
        ("", [1, 1, 1, 1], [1, 1, 1, 1]),
        ("spatial_filter_weight: 3 bilateral_filter_weight: 5", [3, 3, 3, 3], [5, 5, 5, 5]),
        ("spatial_filter_weights_str: '1 2 3 4' bilateral_filter_weight: 5", [1, 2, 3, 4], [5, 5, 5, 5]),
    ],
)
def test_initial_values_follow_the_settings(made, settings, spatial, bilateral):
    layer = made_layer(made, settings)
    assert [tuple(blob.shape) for blob in layer.blob_tensors()] == [(1, 1, 4, 4)] * 3
    for blob, diagonal in zip(layer.blob_tensors(), (spatial, bilateral, [-1] * 4), strict=True):
        np.testing.assert_array_equal(blob.detach()[0, 0], np.diag(diagonal))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("num_iterations: 1", "2 or more"),
        ("num_iterations: 2 theta_beta: 0", "more than 0"),
        ("num_iterations: 2 spatial_filter_weights_str: '1 2'", "2 filter weights for 4 classes"),
        ("num_iterations: 2 bilateral_filter_weights_str: '1 2 3 x'", "aren't a list of numbers"),
    ],
)
def test_wrong_settings_are_refused(made, settings, says):
    with pytest.raises(NetError, match=says):
        made("MultiStageMeanfield", f"multi_stage_meanfield_param {{ {settings} }}", SCORES, SCORES, IMAGE)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ([SCORES, (2, 3, 3, 5), IMAGE], "same shape"),
        ([SCORES, SCORES, (2, 3, 4, 5)], "as large as the scores"),
        ([SCORES, SCORES, (2, 1, 3, 5)], "3 colors"),
        ([(2, 4), (2, 4), IMAGE], "4 axes"),
    ],
)
def test_wrong_shapes_are_refused(made, shapes, says):
    with pytest.raises(ShapeError, match=says):
        made("MultiStageMeanfield", SETTINGS % "", *shapes)


def test_an_image_that_varies_too_much_is_refused(made):
    settings = "multi_stage_meanfield_param { num_iterations: 2 theta_beta: 1e-4 }"
    layer = made("MultiStageMeanfield", settings, SCORES, SCORES, IMAGE)
    with pytest.raises(NetError, match="theta_beta"):
        layer(torch.rand(SCORES), torch.rand(SCORES), torch.rand(IMAGE) * 255)
