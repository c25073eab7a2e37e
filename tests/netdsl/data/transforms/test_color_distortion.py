from __future__ import annotations

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.color_distortion import ColorDistortion, with_hsv_levels, with_levels
from netdsl.errors import DataError

LEVELS = np.arange(256, dtype=np.float32)
GRAY = np.full((1, 1, 3), 100, np.uint8)
COLORS = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)


def distorted(pixels: np.ndarray, count: int, **settings: float) -> np.ndarray:
    """Return the first pixel of an image after many distortions."""
    distortion, random = ColorDistortion(pb.DistortionParameter(**settings)), np.random.default_rng(0)
    return np.array([distortion(pixels, random)[0, 0] for _ in range(count)]).astype(int)


def test_brightness_is_added_in_a_share_of_cases() -> None:
    found = distorted(GRAY, 6000, brightness_prob=0.5, brightness_delta=32)[:, 0]
    changed = found[found != 100]
    assert abs(len(changed) / 6000 - 0.5 * 64 / 65) < 0.03  # some changes are rounded to nothing
    np.testing.assert_allclose(np.quantile(changed, [0, 0.25, 0.5, 0.75, 1]), [68, 84, 100, 116, 132], atol=2)


def test_contrast_is_a_factor() -> None:
    found = distorted(GRAY, 6000, contrast_prob=0.25, contrast_lower=0.5, contrast_upper=1.5)[:, 0]
    changed = found[found != 100]
    assert abs(len(changed) / 6000 - 0.25) < 0.02
    np.testing.assert_allclose(np.quantile(changed, [0, 0.25, 0.5, 0.75, 1]), [50, 75, 100, 125, 150], atol=3)


def test_contrast_comes_before_or_after_saturation_equally_often() -> None:
    """A red that is gray by then is doubled only up to 255, and other colors show which step came first."""
    pixels = np.array([[[20, 20, 200]]], np.uint8)
    settings = {"contrast_prob": 1, "contrast_lower": 2, "contrast_upper": 2,
                "saturation_prob": 1, "saturation_lower": 0.5, "saturation_upper": 0.5}  # fmt: skip
    found = [tuple(each) for each in distorted(pixels, 2000, **settings)]
    doubled, halved = LEVELS * 2, LEVELS / 2
    contrast_first = tuple(with_hsv_levels(with_levels(pixels, doubled), 1, halved)[0, 0].tolist())
    contrast_last = tuple(with_levels(with_hsv_levels(pixels, 1, halved), doubled)[0, 0].tolist())
    assert set(found) == {contrast_first, contrast_last} and contrast_first != contrast_last
    assert abs(found.count(contrast_first) / 2000 - 0.5) < 0.04


def test_saturation_scales_and_hue_turns_the_color_circle() -> None:
    pure = np.array([[[0, 255, 0]]], np.uint8)  # green, with a hue of 60
    whiter = distorted(pure, 2000, saturation_prob=0.5, saturation_lower=0.5, saturation_upper=0.5)
    assert {tuple(each) for each in whiter} == {(0, 255, 0), (127, 255, 127)}
    assert abs((whiter[:, 0] == 127).mean() - 0.5) < 0.04
    turned = distorted(pure, 3000, hue_prob=1, hue_delta=18)
    hues = cv2.cvtColor(turned.astype(np.uint8)[None], cv2.COLOR_BGR2HSV)[0, :, 0]
    np.testing.assert_allclose(np.quantile(hues, [0, 0.25, 0.5, 0.75, 1]), [42, 51, 60, 69, 78], atol=1.5)


def test_a_hue_wraps_around_at_its_end_and_stops_at_its_beginning() -> None:
    red, blue = np.array([[[0, 0, 255]]], np.uint8), np.array([[[255, 0, 0]]], np.uint8)
    assert with_hsv_levels(red, 0, LEVELS - 30).tolist() == red.tolist()
    assert with_hsv_levels(blue, 0, LEVELS + 60).tolist() == red.tolist()  # 120 and 60 make 180


def test_values_are_rounded_to_the_nearest_even_byte_and_clipped() -> None:
    pixels = np.array([[[1, 3, 200]]], np.uint8)
    assert with_levels(pixels, LEVELS * 1.5).tolist() == [[[2, 4, 255]]]
    assert with_levels(pixels, LEVELS - 2).tolist() == [[[0, 1, 198]]]


def test_channels_change_places() -> None:
    pixels = np.array([[[1, 2, 3]]], np.uint8)
    found = [tuple(each) for each in distorted(pixels, 3000, random_order_prob=0.5)]
    assert len(set(found)) == 6
    assert all(abs(found.count(order) / 3000 - share) < 0.03 for order, share in
               (((1, 2, 3), 0.5 + 0.5 / 6), ((3, 2, 1), 0.5 / 6), ((2, 3, 1), 0.5 / 6)))  # fmt: skip


def test_the_original_image_is_unchanged() -> None:
    before = COLORS.copy()
    settings = {f"{name}_prob": 1 for name in ("brightness", "contrast", "saturation", "hue")}
    ColorDistortion(pb.DistortionParameter(**settings, brightness_delta=99))(COLORS, np.random.default_rng(0))
    assert (before == COLORS).all()


def test_gray_images_have_brightness_and_contrast_only() -> None:
    gray, random = GRAY[..., :1], np.random.default_rng(0)
    brighter = ColorDistortion(pb.DistortionParameter(brightness_prob=1, brightness_delta=32))(gray, random)
    assert brighter.shape == (1, 1, 1)
    for setting in ("saturation_prob", "hue_prob", "random_order_prob"):
        with pytest.raises(DataError, match="has 1 channel; set force_color"):
            ColorDistortion(pb.DistortionParameter(**{setting: 1}))(gray, random)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"brightness_delta": -1}, "brightness_delta is -1"),
        ({"hue_delta": -2}, "hue_delta is -2"),
        ({"contrast_lower": 2, "contrast_upper": 1}, "contrast is from 2 to 1"),
        ({"saturation_lower": -1}, "saturation is from -1 to 0"),
    ],
)
def test_impossible_distortions_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ColorDistortion(pb.DistortionParameter(**settings))
