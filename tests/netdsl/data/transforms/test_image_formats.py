"""Image files are recognized by their first bytes."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.image_formats import image_extension, is_image_file


@pytest.mark.parametrize("extension", ["png", "jpg", "webp", "tif", "bmp", "ppm"])
def test_the_files_of_opencv_are_recognized(extension: str) -> None:
    data = opencv().imencode(f".{extension}", np.zeros((4, 5, 3), np.uint8))[1].tobytes()
    assert image_extension(data) == extension
    assert is_image_file(data) is (extension not in ("bmp", "ppm"))


@pytest.mark.parametrize("data", [b"", b"BM", b"RIFF\0\0\0\0WAVE", b"\xff\xd8\0"])
def test_numbers_are_not_taken_for_image_files(data: bytes) -> None:
    assert not is_image_file(data)
