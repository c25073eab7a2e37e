"""ROIPooling and PSROIPooling compared with plain loops over regions, bins and places."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from netdsl.layers import LAYERS, _regions
from tests.nets import layer_of

IMAGES, HEIGHT, WIDTH = 2, 9, 13
REGIONS = np.array(
    [
        (0, 0, 0, 12, 8),
        (1, 3.4, 1.6, 9.5, 6.5),  # halves are rounded away from zero
        (1, 10, 7, 20, 30),  # extends beyond the border
        (0, -9, -5.5, 4, 2),
        (1, 6, 5, 3, 2),  # ends before it begins
        (0, 40, 3, 50, 5),  # outside
    ],
    np.float32,
)


def roi_pooling(settings: str, channels: int = 3, regions: tuple[int, ...] = (6, 5)) -> Layer:
    text = f'type: "ROIPooling" bottom: "x" bottom: "r" top: "y" roi_pooling_param {{ {settings} }}'
    message = from_text(text, pb.LayerParameter)
    # here the gradient is the derivative, even for a region that ends before it begins
    message.dialects.append("intel")
    return LAYERS["ROIPooling"](message, [(IMAGES, channels, HEIGHT, WIDTH), regions])


def ps_roi_pooling(settings: str, channels: int) -> Layer:
    text = f'bottom: "x" bottom: "r" top: "y" psroi_pooling_param {{ {settings} }}'
    return layer_of("PSROIPooling", text, (IMAGES, channels, HEIGHT, WIDTH), (6, 5))


def whole(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def clipped(start: float, end: float, length: int) -> range:
    return range(min(max(int(start), 0), length), min(max(int(end), 0), length))


def max_bins(first: float, last: float, count: int, length: int) -> list[range]:
    first, last = whole(first), whole(last)
    step = np.float32(max(last - first + 1, 1)) / np.float32(count)
    return [
        clipped(np.floor(np.float32(k) * step) + first, np.ceil(np.float32(k + 1) * step) + first, length)
        for k in range(count)
    ]


@pytest.mark.parametrize("scale", [1, 0.5])
@pytest.mark.parametrize("ties", [True, False])
def test_maxima_and_gradients_equal_those_of_loops(scale, ties):
    x = np.random.default_rng(0).normal(size=(IMAGES, 3, HEIGHT, WIDTH)).astype(np.float32)
    x = np.floor(x) if ties else x
    layer = roi_pooling(f"pooled_h: 4 pooled_w: 3 spatial_scale: {scale}")
    bottom, regions = torch.tensor(x, requires_grad=True), torch.tensor(REGIONS)
    top = layer(bottom, regions)
    weights = np.random.default_rng(1).normal(size=(6, 3, 4, 3)).astype(np.float32)
    top.backward(torch.tensor(weights))

    expected, gradient = np.zeros((6, 3, 4, 3)), np.zeros(x.shape)
    for r, (image, x1, y1, x2, y2) in enumerate(REGIONS * (1, scale, scale, scale, scale)):
        for ph, rows in enumerate(max_bins(y1, y2, 4, HEIGHT)):
            for pw, columns in enumerate(max_bins(x1, x2, 3, WIDTH)):
                for c in range(3) if rows and columns else ():
                    plane = x[int(image), c]
                    # the first of equal values
                    y, z = max(((i, j) for i in rows for j in columns), key=lambda at: plane[at])
                    expected[r, c, ph, pw] = plane[y, z]
                    gradient[int(image), c, y, z] += weights[r, c, ph, pw]
    assert np.array_equal(top.detach(), expected)
    np.testing.assert_allclose(bottom.grad, gradient, atol=1e-6)


@pytest.mark.parametrize("learns", [True, False])
def test_pooling_in_pieces_equals_pooling_at_once(learns, monkeypatch):
    rng = np.random.default_rng(2)
    x = torch.tensor(rng.integers(0, 9, (IMAGES, 37, HEIGHT, WIDTH)), dtype=torch.float32)
    layer = roi_pooling("pooled_h: 4 pooled_w: 3 spatial_scale: 1", 37)
    weights = torch.tensor(rng.normal(size=(6, 37, 4, 3)), dtype=torch.float32)
    results = []
    for limit in (_regions._CACHED_BYTES, 1):  # with one byte, the layer works on pieces of a region and 16 channels
        monkeypatch.setattr(_regions, "_CACHED_BYTES", limit)
        bottom = x.clone().requires_grad_(learns)
        top = layer(bottom, torch.tensor(REGIONS))
        if learns:
            top.backward(weights)
        results.append((top.detach(), bottom.grad))
    torch.testing.assert_close(results[1], results[0])


def test_a_region_without_places_has_zeros_and_no_gradient():
    x = torch.full((IMAGES, 3, HEIGHT, WIDTH), -1.0, requires_grad=True)
    top = roi_pooling("pooled_h: 2 pooled_w: 2 spatial_scale: 1")(x, torch.tensor([[1.0, 40, 40, 60, 60]] * 6))
    top.sum().backward()
    assert not top.any()
    assert not x.grad.any()


def average_bins(first: float, last: float, count: int, length: int, scale: float) -> list[range]:
    origin = np.float32(whole(first)) * np.float32(scale)
    step = max(np.float32(whole(last) + 1) * np.float32(scale) - origin, np.float32(0.1)) / np.float32(count)
    return [
        clipped(np.floor(np.float32(k) * step + origin), np.ceil(np.float32(k + 1) * step + origin), length)
        for k in range(count)
    ]


@pytest.mark.parametrize("scale", [1, 0.5])
def test_bins_average_their_own_maps(scale):
    size, outputs = 3, 2
    x = np.random.default_rng(0).normal(size=(IMAGES, outputs * size**2, HEIGHT, WIDTH)).astype(np.float32)
    layer = ps_roi_pooling(f"spatial_scale: {scale} output_dim: {outputs} group_size: {size}", x.shape[1])
    bottom, regions = torch.tensor(x, requires_grad=True), torch.tensor(REGIONS)
    top = layer(bottom, regions)
    weights = np.random.default_rng(1).normal(size=(6, outputs, size, size)).astype(np.float32)
    top.backward(torch.tensor(weights))

    expected, gradient = np.zeros((6, outputs, size, size)), np.zeros(x.shape)
    for r, (image, x1, y1, x2, y2) in enumerate(REGIONS):
        for ph, rows in enumerate(average_bins(y1, y2, size, HEIGHT, scale)):
            for pw, columns in enumerate(average_bins(x1, x2, size, WIDTH, scale)):
                for c in range(outputs) if rows and columns else ():
                    own = int(image), (c * size + ph) * size + pw, slice(rows.start, rows.stop)
                    own = (*own, slice(columns.start, columns.stop))
                    expected[r, c, ph, pw] = x[own].mean()
                    gradient[own] += weights[r, c, ph, pw] / x[own].size
    np.testing.assert_allclose(top.detach(), expected, atol=1e-6)
    np.testing.assert_allclose(bottom.grad, gradient, atol=1e-6)


def test_gradients_are_derivatives():
    x = torch.rand(IMAGES, 8, HEIGHT, WIDTH, dtype=torch.float64, requires_grad=True)
    regions = torch.tensor(REGIONS, dtype=torch.float64)
    for layer in (roi_pooling("pooled_size: 2 pooled_size: 3", 8), ps_roi_pooling(
        "spatial_scale: 1 output_dim: 2 group_size: 2", 8
    )):  # fmt: skip
        torch.autograd.gradcheck(lambda *bottom, layer=layer: layer(*bottom, regions), [x], fast_mode=True)


def test_maps_with_channels_last_are_pooled_alike():
    x, regions = torch.randn(IMAGES, 8, HEIGHT, WIDTH), torch.tensor(REGIONS)
    for layer in (
        roi_pooling("pooled_h: 2 pooled_w: 3", 8),
        ps_roi_pooling("spatial_scale: 1 output_dim: 2 group_size: 2", 8),
    ):
        results = []
        for bottom in (x.clone(), x.to(memory_format=torch.channels_last)):
            top = layer(bottom.requires_grad_(), regions)
            top.sum().backward()
            results.append((top, bottom.grad))
        torch.testing.assert_close(results[1], results[0])


def test_regions_may_have_four_axes():
    layer = roi_pooling("pooled_size: 2 pooled_size: 3")
    shapes = [(IMAGES, 3, HEIGHT, WIDTH), (7, 5, 1, 1)]
    assert layer.top_shapes(shapes) == [(7, 3, 2, 3)]
    assert layer(torch.zeros(shapes[0]), torch.zeros(shapes[1])).shape == (7, 3, 2, 3)
    assert layer(torch.zeros(shapes[0]), torch.zeros(0, 5)).shape == (0, 3, 2, 3)
    four = ps_roi_pooling("spatial_scale: 1 output_dim: 1 group_size: 2", 4)
    assert four(torch.zeros(1, 4, 5, 6), torch.zeros(0, 5)).shape == (0, 1, 2, 2)


def test_data_that_do_not_fit_are_refused():
    with pytest.raises(NetError, match="pooled_h"):
        roi_pooling("pooled_h: 3")
    with pytest.raises(ShapeError, match=r"shape \[6, 4\]"):
        roi_pooling("pooled_h: 3 pooled_w: 3", regions=(6, 4))
    with pytest.raises(ShapeError, match="is 12, but the bottom has 13 channels"):
        ps_roi_pooling("spatial_scale: 1 output_dim: 3 group_size: 2", 13)
    with pytest.raises(NetError, match="group_size"):
        ps_roi_pooling("spatial_scale: 1 output_dim: 3", 12)


@pytest.mark.parametrize(("dialect", "gradient"), [("", 0), ("faster-rcnn", 0), ("synopsys", 0), ("intel", 1)])
def test_an_inverted_region_has_a_gradient_only_in_intels_fork(made, dialect, gradient):
    settings = "roi_pooling_param { pooled_h: 1 pooled_w: 1 spatial_scale: 1 }"
    layer = made("ROIPooling", settings, (1, 1, 3, 3), (2, 5), dialect=dialect)
    x = torch.arange(9.0).view(1, 1, 3, 3).requires_grad_()
    top = layer(x, torch.tensor([[0.0, 2, 1, 1, 1], [0, 0, 0, 0, 0]]))
    assert top.flatten().tolist() == [5, 0]
    top.sum().backward()
    assert x.grad[0, 0, 1, 2] == gradient
    assert x.grad[0, 0, 0, 0] == 1
    assert not layer.doubts
