"""SSD's `distort_param`: changes of brightness, contrast, saturation and hue, in 8 bits as in OpenCV."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import opencv
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_COLORS = 3  # the channels of an image in color
_HUE, _SATURATION = 0, 1  # the indices of these channels
_LEAST_CONTRAST = 1e-3  # in Caffe, a factor that is closer to 1 changes nothing
_LEVELS = np.arange(256, dtype=np.float32)


class ColorDistortion:
    """Changes of an image of height, width, channels. Each has its own probability.

    Brightness comes first, and the order of channels last. Contrast comes second or, in half of the cases, after
    saturation and hue.
    """

    def __init__(self, p: pb.DistortionParameter) -> None:
        _check_probabilities(p)
        self._p = p

    def __call__(self, pixels: Array, random: Random) -> Array:
        """Return the changed image. All random numbers are drawn, whichever changes are made."""
        contrast_is_early = random.random() < 0.5
        steps: list[Callable[[Array, Random], Array]] = [self._saturation, self._hue]
        steps.insert(0 if contrast_is_early else 2, self._contrast)
        for step in (self._brightness, *steps, self._order):
            pixels = step(pixels, random)
        return pixels

    def _brightness(self, pixels: Array, random: Random) -> Array:
        chance, most = random.random(), self._p.brightness_delta
        added = random.uniform(-most, most)
        return with_levels(pixels, _LEVELS + np.float32(added)) if chance < self._p.brightness_prob else pixels

    def _contrast(self, pixels: Array, random: Random) -> Array:
        chance, factor = random.random(), random.uniform(self._p.contrast_lower, self._p.contrast_upper)
        if chance >= self._p.contrast_prob or abs(factor - 1) <= _LEAST_CONTRAST:
            return pixels
        return with_levels(pixels, _LEVELS * np.float32(factor))

    def _saturation(self, pixels: Array, random: Random) -> Array:
        chance, factor = random.random(), random.uniform(self._p.saturation_lower, self._p.saturation_upper)
        if chance >= self._p.saturation_prob:
            return pixels
        return with_hsv_levels(pixels, _SATURATION, _LEVELS * np.float32(factor))

    def _hue(self, pixels: Array, random: Random) -> Array:
        chance, most = random.random(), self._p.hue_delta
        added = random.uniform(-most, most)
        return with_hsv_levels(pixels, _HUE, _LEVELS + np.float32(added)) if chance < self._p.hue_prob else pixels

    def _order(self, pixels: Array, random: Random) -> Array:
        chance, order = random.random(), random.permutation(_COLORS)
        if chance >= self._p.random_order_prob:
            return pixels
        _check_colors(pixels)
        return np.ascontiguousarray(pixels[..., order])


def with_levels(pixels: Array, levels: Array) -> Array:
    """Return an image whose values are replaced by the levels at their indices, rounded to 8 bits."""
    table = np.rint(levels).clip(0, 255).astype(np.uint8)
    return np.atleast_3d(opencv().LUT(pixels, table))


def with_hsv_levels(pixels: Array, channel: int, levels: Array) -> Array:
    """Return an image with other levels in its channel of hue, saturation or value.

    As in Caffe, a hue below 0 becomes 0, which is red, and a hue above 180 wraps around.
    """
    _check_colors(pixels)
    cv2 = opencv()
    hsv = cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV)
    tables = np.tile(np.arange(256, dtype=np.uint8)[:, None], _COLORS)
    tables[:, channel] = np.rint(levels).clip(0, 255)
    return np.asarray(cv2.cvtColor(cv2.LUT(hsv, tables[None]), cv2.COLOR_HSV2BGR))


def _check_colors(pixels: Array) -> None:
    if pixels.shape[2] != _COLORS:
        raise DataError(
            f"distort_param changes colors, but an image has {pixels.shape[2]} channel; set force_color, or remove it"
        )


def _check_probabilities(p: pb.DistortionParameter) -> None:
    for name in ("brightness_delta", "hue_delta"):
        if not getattr(p, name) >= 0:
            raise DataError(f"distort_param's {name} is {getattr(p, name):g}; set it to 0 or more")
    for name in ("contrast", "saturation"):
        lower, upper = getattr(p, f"{name}_lower"), getattr(p, f"{name}_upper")
        if not 0 <= lower <= upper:
            raise DataError(
                f"distort_param's {name} is from {lower:g} to {upper:g}; set both to 0 or more, in ascending order"
            )
