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


def test_points_are_a_part_of_a_blob_and_attributes_take_the_rest() -> None:
    groups = {
        "yaw": {"blob": "fc", "first": "1", "count": "1", "scale": "90"},
        "side": {"blob": "prob", "names": ["left", "right"]},
    }
    part = {"blobs": {"points": "fc"}, "first": "2", "count": "4"}
    decoder = decoder_of({"decoder": "landmarks", **part, "groups": groups})
    assert decoder.blob_names == ("fc", "prob")
    found = decoder.decode({"fc": np.array([9, -0.5, 0.1, 0.5, 1, 0, 7]), "prob": np.array([0.25, 0.75])}, SIZE)
    assert found.points.tolist() == [[10, 20], [100, 0]]
    assert found.groups["yaw"] == -45
    assert found.groups["side"].names == ("left", "right")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first": "-1"}, "output.first is -1; set it to a number from 0 to 10000"),
        ({"count": "1000000"}, "output.count is 1e+06; set it to a number from 0 to 10000"),
        ({"first": "4"}, "blob 'fc' has 4 values, and none from value 4 on; lower `first`"),
        ({"count": "6"}, "blob 'fc' has 4 values, so `count` is at most 4 from value 0 on; lower it"),
        ({"count": "3"}, "blob 'fc': 3 values aren't pairs of x and y"),
        ({"groups": {"a": {"blob": "fc", "count": "-1"}}}, "output.groups.a: `first` and `count` can't be negative"),
        ({"groups": {"a": {"blob": "gone"}}}, "groups.a: the net has no output 'gone'; use one of fc"),
    ],
)
def test_parts_that_do_not_exist_are_refused(settings, message) -> None:
    with pytest.raises(DecoderError) as problem:
        places([0.1, 0.2, 0.3, 0.4], **settings)
    assert str(problem.value).startswith(message)


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, 3.0]])
def test_an_odd_number_of_values_is_refused(values) -> None:
    with pytest.raises(DecoderError, match=r"blob 'fc': . values aren't pairs of x and y"):
        places(values)
