"""Images: loaded through Pillow or something that stands for it, resized, cropped."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Self

import numpy as np
import pytest

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.errors import NetError
from netdsl.pycaffe.images import load_image, oversample, resize_image

RAMP = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
RECORDED_AREAS = [[0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 3.0], [5.25, 7.25, 7.75, 8.25, 8.75, 9.25, 9.75, 7.5]]
RECORDED_POINTS = [[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [8.0, 8.5, 9.0, 9.5, 10.0, 10.5, 11.0]]


def test_images_of_one_or_three_channels_are_areas() -> None:
    """Beside scipy 1.17's zoom with grid_mode=True and mode='grid-constant', which is what scikit-image calls."""
    found = resize_image(RAMP, (2, 8))[:, :, 0]
    np.testing.assert_allclose(found, RECORDED_AREAS, atol=1e-6)
    np.testing.assert_allclose(resize_image(np.repeat(RAMP, 3, 2), (2, 8))[:, :, 1], RECORDED_AREAS, atol=1e-6)


def test_images_of_other_channels_are_points() -> None:
    """Beside scipy 1.17's zoom."""
    found = resize_image(np.repeat(RAMP, 2, 2), (2, 7))
    np.testing.assert_allclose(found[:, :, 1], RECORDED_POINTS, atol=1e-6)


def test_the_nearest_pixel_is_taken_if_asked() -> None:
    assert resize_image(RAMP, (3, 8), interp_order=0)[0, :, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert resize_image(np.repeat(RAMP, 2, 2), (3, 2), 0)[0, :, 0].tolist() == [0, 3]
    with pytest.raises(NetError, match="interp_order 3"):
        resize_image(RAMP, (3, 8), 3)


def test_a_constant_image_stays_constant() -> None:
    found = resize_image(np.full((5, 4, 3), -7.5), (9, 3))
    assert found.shape == (9, 3, 3) and found.dtype == np.float32 and (found == -7.5).all()


def test_ten_crops_of_every_image() -> None:
    images = [np.arange(7 * 6 * 2).reshape(7, 6, 2), np.arange(7 * 6 * 2).reshape(7, 6, 2) + 1000]
    crops = oversample(images, (4, 3))
    assert crops.shape == (20, 4, 3, 2) and crops.dtype == np.float32
    starts = [(0, 0), (0, 3), (3, 0), (3, 3), (1, 1)]
    for index, image in enumerate(images):
        for place, (top, left) in enumerate(starts):
            wanted = image[top : top + 4, left : left + 3]
            np.testing.assert_array_equal(crops[10 * index + place], wanted)
            np.testing.assert_array_equal(crops[10 * index + 5 + place], wanted[:, ::-1])


class Opened:
    """As much of Pillow's Image as is asked for."""

    def __init__(self, mode: str, pixels: np.ndarray, image_format: str = "PNG") -> None:
        self.mode, self.pixels, self.format = mode, pixels, image_format

    def convert(self, mode: str) -> np.ndarray:
        self.converted = mode
        return self.pixels

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None: ...


@pytest.fixture
def opened(monkeypatch):
    """Let an image be opened that isn't there."""

    def use(image: Opened) -> Opened:
        pillow = ModuleType("PIL.Image")
        pillow.open = lambda name: image  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "PIL", SimpleNamespace(Image=pillow))
        monkeypatch.setitem(sys.modules, "PIL.Image", pillow)
        return image

    return use


@pytest.mark.parametrize(
    ("mode", "pixels", "converted", "first"),
    [
        ("RGB", np.full((2, 3, 3), 51, np.uint8), "RGB", 0.2),
        ("RGBA", np.full((2, 3, 3), 51, np.uint8), "RGB", 0.2),
        ("P", np.full((2, 3, 3), 51, np.uint8), "RGB", 0.2),
        ("L", np.full((2, 3), 51, np.uint8), "L", 0.2),
        ("1", np.full((2, 3), 255, np.uint8), "L", 1),
        ("LA", np.full((2, 3), 51, np.uint8), "L", 0.2),
        ("I;16", np.full((2, 3), 13107, np.uint16), "I;16", 0.2),
        ("I", np.full((2, 3), 13107, np.int32), "I", 0.2),
        ("F", np.full((2, 3), 0.25, np.float32), "F", 0.25),
    ],
)
def test_all_images_have_values_up_to_one_in_colour_or_grey(opened, mode, pixels, converted, first) -> None:
    image = opened(Opened(mode, pixels))
    for color, channels in ((True, 3), (False, 1)):
        found = load_image("x.png", color)
        assert found.shape == (2, 3, channels) and found.dtype == np.float32 and image.converted == converted
        np.testing.assert_allclose(found, first, rtol=1e-6)


def test_grey_is_how_bright_colours_are(opened) -> None:
    opened(Opened("RGB", np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)))
    np.testing.assert_allclose(load_image("x.png", color=False).ravel(), [0.2125, 0.7154, 0.0721], rtol=1e-6)


def test_without_pillow_an_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(MissingExtraError, match=r"netdsl\[data\]"):
        load_image("x.png")


def test_real_files(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 255, (5, 4, 4)).astype(np.uint8)
    pillow.fromarray(pixels).save(tmp_path / "x.png")
    np.testing.assert_allclose(load_image(tmp_path / "x.png"), pixels[:, :, :3] / 255, rtol=1e-6)
    deep = np.arange(20, dtype=np.uint16).reshape(5, 4) * 3000
    pillow.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_allclose(load_image(tmp_path / "deep.png", False)[:, :, 0], deep / 65535, rtol=1e-6)
    (tmp_path / "y.png").write_text("no image")
    for name in ("y.png", "missing.png"):
        with pytest.raises(FileError, match=name):
            load_image(tmp_path / name)
