"""Landmarks: the order, the unit and the scale of coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of

SIZE = (40, 100)


def places(values: list[float], **settings: str) -> list[list[float]]:
    decoder = decoder_of({"decoder": "landmarks", "blobs": {"points": "fc"}, **settings})
    return decoder.decode({"fc": np.array(values)}, SIZE).points.tolist()


def test_coordinates_are_fractions_of_width_and_height() -> None:
    assert places([0.1, 0.5, 1, 0]) == [[10, 20], [100, 0]]


def test_all_x_can_come_before_all_y() -> None:
    assert places([0.1, 1, 0.5, 0], order="xxyy") == [[10, 20], [100, 0]]


def test_coordinates_in_pixels_are_unchanged() -> None:
    assert places([3, 4], unit="pixels") == [[3, 4]]


def test_values_around_the_center_are_scaled_and_shifted() -> None:
    assert places([-1, 1, 0, 0], scale="0.5", offset="0.5") == [[0, 40], [50, 20]]


@pytest.mark.parametrize("count", [68, 106, 136 // 2])
def test_any_number_of_points_is_read(count) -> None:
    assert len(places([0.5] * 2 * count)) == count


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_an_odd_number_of_values_is_refused(values) -> None:
    with pytest.raises(DecoderError, match=r"blob 'fc': . values aren't pairs of x and y"):
        places(values)
