"""Coordinate mappings between blobs, and crops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netdsl.pycaffe import NetSpec
from netdsl.pycaffe import layers as L
from netdsl.pycaffe.coord_map import AxisMismatchException, coord_map_from_to, crop


def spec(kernel: Any = 3, stride: Any = 1, pad: Any = 0, pool: int = 2, up: int = 2, up_pad: int = 0) -> NetSpec:
    """Return a convolution, a pooling, and a deconvolution that reverses the pooling."""
    n = NetSpec()
    n.data = L.Input(shape={"dim": [2, 1, 100, 100]})
    n.aux = L.Input(shape={"dim": [2, 1, 20, 20]})
    n.conv = L.Convolution(n.data, num_output=10, kernel_size=kernel, stride=stride, pad=pad)
    n.pool = L.Pooling(n.conv, kernel_size=pool, stride=pool)
    n.up = L.Deconvolution(n.pool, num_output=10, kernel_size=2 * up, stride=up, pad=up_pad)
    return n


def numbers(found: Any) -> tuple[Any, list[float], list[float]]:
    axis, scale, shift = found
    return axis, np.atleast_1d(scale).tolist(), np.atleast_1d(shift).tolist()


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, (1, [1], [0])),
        ({"pool": 4, "up": 4}, (1, [1], [-1])),
        ({"pad": 3}, (1, [1], [-3])),
        ({"up_pad": 3}, (1, [1], [3])),
        ({"pad": 4, "up_pad": 4}, (1, [1], [0])),
        ({"pool": 3}, (1, [1.5], [-0.25])),
    ],
)
def test_windows_scale_and_shift_coordinates(settings, wanted) -> None:
    n = spec(**settings)
    axis, scale, shift = numbers(coord_map_from_to(n.up, n.data))
    assert (axis, scale, shift) == (wanted[0], pytest.approx(wanted[1]), pytest.approx(wanted[2]))


def test_pointwise_layers_keep_coordinates() -> None:
    n = spec()
    n.relu = L.ReLU(n.up)
    n.one = L.Convolution(L.Eltwise(n.relu, n.up), num_output=10, kernel_size=1)
    for top in (n.relu, n.one):
        assert numbers(coord_map_from_to(top, n.data)) == (1, [1], [0])
    assert coord_map_from_to(n.relu, n.relu) == (None, 1, 0)


def test_two_blobs_are_related_through_a_common_ancestor() -> None:
    n = spec()
    n.other = L.Convolution(n.data, num_output=10, kernel_size=5, stride=2)
    assert numbers(coord_map_from_to(n.up, n.other)) == (1, [0.5], [-1])


def test_each_axis_has_its_own_numbers_and_each_bottom_the_same() -> None:
    both = numbers(coord_map_from_to((n := spec(kernel=[3, 5], stride=[1, 2], pad=[0, 10])).up, n.data))
    for place, alone in enumerate((spec(kernel=3), spec(kernel=5, stride=2, pad=10))):
        axis, scale, shift = numbers(coord_map_from_to(alone.up, alone.data))
        assert (axis, scale[0], shift[0]) == (both[0], both[1][place], both[2][place])
    n.a, n.b = L.Convolution(n.data, n.aux, ntop=2, num_output=10, kernel_size=5, stride=2, dilation=2)
    assert numbers(coord_map_from_to(n.a, n.data)) == numbers(coord_map_from_to(n.b, n.aux)) == (1, [2], [4])


def test_a_crop_shifts_and_its_second_bottom_does_not_count() -> None:
    n = spec()
    n.crop = L.Crop(n.up, n.data, axis=2, offset=7)
    assert numbers(coord_map_from_to(n.crop, n.data)) == (1, [1], [7])
    n.alone = L.Crop(n.aux, n.data)
    with pytest.raises(RuntimeError, match="no map between these tops"):
        coord_map_from_to(n.alone, n.data)


def test_crop_makes_the_layer() -> None:
    n = spec(pad=10)
    n.score = crop(n.up, n.data)
    layer = n.to_proto().layer[-1]
    assert (layer.type, list(layer.bottom)) == ("Crop", ["up", "data"])
    assert layer.crop_param.axis == 2 and list(layer.crop_param.offset) == [10]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"pool": 3}, "scale mismatch"),
        ({"up_pad": 10}, "negative offset"),
        ({"kernel": 4, "pad": 2}, "noninteger offset"),
    ],
)
def test_impossible_crops_are_refused(settings, why) -> None:
    n = spec(**settings)
    with pytest.raises(AssertionError, match=why):
        crop(n.up, n.data)


def test_layers_without_a_map_end_the_search() -> None:
    n = spec()
    n.ip = L.InnerProduct(n.up, num_output=10)
    with pytest.raises(RuntimeError):
        coord_map_from_to(n.ip, n.data)
    n.odd = L.Convolution(n.up, num_output=10, kernel_size=3, axis=2)
    with pytest.raises(AxisMismatchException, match="axis 2"):
        coord_map_from_to(n.odd, n.data)
    n.old = L.Convolution(n.up, num_output=10, kernel_h=3, kernel_w=3)
    with pytest.raises(AssertionError, match="per-axis"):
        coord_map_from_to(n.old, n.data)


def test_many_paths_between_two_blobs_take_no_longer_than_one() -> None:
    data = L.Input(shape={"dim": [1, 1, 9, 9]})
    top = L.Convolution(data, num_output=1, kernel_size=1)
    for _ in range(60):
        top = L.Eltwise(top, L.Convolution(top, num_output=1, kernel_size=3, pad=1))
    assert numbers(coord_map_from_to(top, data)) == (1, [1], [0])
