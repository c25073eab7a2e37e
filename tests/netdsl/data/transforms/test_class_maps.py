from __future__ import annotations

import numpy as np

from netdsl.data.transforms.annotated_transform import ClassMaps

VALUES = np.array([[[0, 1, 2, 2], [0, 1, 2, 5], [0, 0, 0, 5], [0, 0, 0, 5]]], np.uint8)


def test_a_channel_has_the_share_of_each_place_that_its_classes_cover() -> None:
    shares = ClassMaps([[1, 2], [5], [7]], divisor=2)(VALUES, 4, 4)
    assert shares.dtype == np.float32 and shares.shape == (3, 2, 2)
    np.testing.assert_allclose(shares, [[[0.5, 0.75], [0, 0]], [[0, 0.25], [0, 0.5]], [[0, 0], [0, 0]]], atol=1 / 255)


def test_maps_can_have_a_size_of_their_own() -> None:
    assert ClassMaps([[1]], size=(3, 5))(VALUES, 4, 4).shape == (1, 3, 5)
    assert ClassMaps([[1]], divisor=8)(VALUES, 4, 4).shape == (1, 1, 1)


def test_a_map_of_one_class_is_foreground_above_100() -> None:
    values = np.array([[[0, 255], [100, 101]]], np.uint8)
    assert ClassMaps(None, divisor=1)(values, 2, 2).tolist() == [[[0, 1], [0, 1]]]
