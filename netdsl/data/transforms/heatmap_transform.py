"""caffe-heatmap's transform of an image with joints. Each joint becomes a map."""

from __future__ import annotations

import math

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_SIGMA = 1.5  # in map pixels
_HEIGHT = 4 / (_SIGMA * math.sqrt(2 * math.pi))  # of the gaussian


class HeatmapTransform:
    """Cuts a square out of an image, resizes it, and draws a map with a gaussian for each joint.

    With `random_crop`, the square has a random place, is rotated, and is mirrored in half of the cases. Otherwise it is
    in the center.
    """

    def __init__(self, p: pb.HeatmapDataParameter) -> None:
        _check_settings(p)
        self._p = p

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int) -> tuple[Array, ...]:
        """Return the image and its maps. All random numbers come from `random`, in Caffe's order."""
        p, (image, joints) = self._p, item
        pixels = self._padded(image.transpose(1, 2, 0).astype(np.float32))
        points: Pixels = joints.astype(np.float32) * p.multfact
        if p.random_crop and random.integers(2):
            pixels, points = pixels[:, ::-1], self._mirrored(points, pixels.shape[1])
        free = (pixels.shape[0] - p.cropsize, pixels.shape[1] - p.cropsize)
        left, top = (int(random.integers(each + 1)) if p.random_crop else each // 2 for each in free[::-1])
        pixels, points = (
            pixels[top : top + p.cropsize, left : left + p.cropsize],
            points - np.array([left, top], np.float32),
        )
        if p.random_crop:
            pixels, points = self._turned(pixels, points, random.uniform(-p.angle_max, p.angle_max))
        resized = opencv().resize(np.ascontiguousarray(pixels), (p.outsize, p.outsize)) * np.float32(p.scale)
        return resized.transpose(2, 0, 1), self._maps(points * np.float32(p.label_height / p.cropsize))

    def _padded(self, pixels: Pixels) -> Pixels:
        """Return an image that is at least as wide as the crop. As in Caffe, a narrow image is padded with black on its
        right."""
        return np.pad(pixels, ((0, 0), (0, max(0, self._p.cropsize - pixels.shape[1])), (0, 0)))

    def _mirrored(self, points: Pixels, width: int) -> Pixels:
        """Return mirrored joints. In Caffe, they come in left-right pairs, optionally after one joint without a
        pair."""
        points = np.array([width, 0], np.float32) + points * np.array([-1, 1], np.float32)
        if not self._p.flip_joint_labels:
            return points
        alone = 1 if self._p.dont_flip_first else 0
        pairs: Pixels = points[alone:].reshape(-1, 2, 2)[:, ::-1].reshape(-1, 2)
        result: Pixels = np.concatenate([points[:alone], pairs])
        return result

    def _turned(self, pixels: Pixels, points: Pixels, degrees: float) -> tuple[Pixels, Pixels]:
        cv2, side = opencv(), self._p.cropsize
        matrix = cv2.getRotationMatrix2D((side // 2, side // 2), degrees, 1)
        turned = cv2.warpAffine(np.ascontiguousarray(pixels), matrix, (side, side))
        return turned, points @ matrix[:, :2].T + matrix[:, 2]

    def _maps(self, points: Pixels) -> Pixels:
        rows, columns = np.arange(self._p.label_height)[:, None], np.arange(self._p.label_width)
        x, y = (points[:, axis, None, None].astype(np.float64) for axis in (0, 1))
        maps = _HEIGHT * np.exp(-0.5 * ((rows - y) ** 2 + (columns - x) ** 2) / _SIGMA**2)
        return maps.astype(np.float32)


def _check_settings(p: pb.HeatmapDataParameter) -> None:
    if not (p.cropsize and p.outsize):
        raise DataError("the layer needs the sizes of its images; set cropsize and outsize above 0")
    if p.label_width != p.label_height:
        raise DataError(
            "label_width and label_height differ, but the fork only draws squares; set both to the same value"
        )
