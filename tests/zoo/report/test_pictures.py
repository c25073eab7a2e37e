"""Arrays as pictures."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from zoo.report.pictures import is_image, pixels_of, png_of_pixels


def test_a_png_has_the_pixels() -> None:
    for shape in ((5, 7), (5, 7, 3)):
        pixels = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
        with Image.open(io.BytesIO(png_of_pixels(pixels))) as image:
            assert np.array_equal(np.asarray(image), pixels)


def test_values_fill_the_range_and_blue_comes_first() -> None:
    values = np.zeros((3, 2, 2), np.float32)
    values[0, 0, 1], values[2, 1, 0] = 2.0, -2.0
    pixels = pixels_of(values)
    assert pixels[0, 1].tolist() == [128, 128, 255] and pixels[1, 0].tolist() == [0, 128, 128]
    assert pixels_of(np.ones((1, 2, 2), np.float32)).tolist() == [[0, 0], [0, 0]]
    assert pixels_of(np.full((1, 2, 2), np.nan, np.float32)).shape == (2, 2)


def test_large_images_become_smaller() -> None:
    assert max(pixels_of(np.zeros((1, 500, 300), np.float32)).shape) <= 96


def test_arrays_that_are_images_are_recognized() -> None:
    assert is_image((1, 28, 28)) and is_image((3, 5, 5))
    assert not is_image((2, 5, 5)) and not is_image((3, 1, 1)) and not is_image((784,))
