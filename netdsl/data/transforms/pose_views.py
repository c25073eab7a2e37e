"""Views of people in an image, which CMU's pose nets learn from: of another size, turned, moved and mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.box_expansion import Canvas, PixelWindow
from netdsl.data.transforms.decode import image_limit, opencv
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.pose_skeleton import Skeleton
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

PoseSettings = pb.CPMTransformationParameter | pb.TransformationParameter

FILLS = (128, 255)  # what lies around an image, and around its mask


@dataclass(frozen=True)
class PoseView:
    """An image, and maybe a mask, of height, width, channels, with people.

    A person is rows of three numbers: x, y and scale of the whole, and then x, y and visibility of each joint.
    """

    planes: tuple[Array, ...]
    people: Pixels

    @property
    def size(self) -> tuple[int, int]:
        """The height and width."""
        height, width = self.planes[0].shape[:2]
        return height, width

    def moved(self, planes: Sequence[Array], factors: Pixels, offset: Pixels) -> PoseView:
        """Other planes, where a point (x, y) is at factors * (x, y) + offset."""
        people = self.people.copy()
        people[..., :2] = people[..., :2] @ factors.T + offset
        return PoseView(tuple(plane.reshape(*plane.shape[:2], -1) for plane in planes), people)


class PoseViews:
    """The draw of views. Caffe's order of random numbers: scale, rotation, place, mirror."""

    def __init__(self, p: PoseSettings, skeleton: Skeleton) -> None:
        self._p = p
        self._mirrored = [0, *(1 + joint for joint in skeleton.mirrored)]

    def __call__(self, view: PoseView, random: Random) -> PoseView:
        """A view of the first person, of the size of the crop."""
        return self._mirror(self._crop(self._rotate(self._scale(view, random), random), random), random)

    def _scale(self, view: PoseView, random: Random) -> PoseView:
        p, factor = self._p, 1.0
        if random.random() < p.scale_prob:
            factor = (p.scale_max - p.scale_min) * random.random() + p.scale_min
        scale = float(np.float32(p.target_dist / view.people[0, 0, 2]) * np.float32(factor))
        height, width = (side * scale for side in view.size)
        if not (min(height, width) >= 1 and height * width <= image_limit().pixels):
            raise DataError(f"a person of scale {view.people[0, 0, 2]:g} makes an image of {height:g} x {width:g}")
        cv2 = opencv()
        planes = [cv2.resize(plane, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC) for plane in view.planes]
        return view.moved(planes, np.eye(2, dtype=np.float32) * np.float32(scale), np.zeros(2, np.float32))

    def _rotate(self, view: PoseView, random: Random) -> PoseView:
        """All of an image, turned. Caffe's rule: its frame is a pixel wider and higher than it need be."""
        cv2, (height, width) = opencv(), view.size
        degrees = (random.random() - 0.5) * 2 * self._p.max_rotate_degree
        centre = width / 2, height / 2
        matrix = cv2.getRotationMatrix2D(centre, degrees, 1)
        corners = cv2.boxPoints((centre, (width, height), degrees))
        frame = (np.ceil(corners.max(0)) - np.floor(corners.min(0))).astype(int) + 1
        matrix[:, 2] += frame / 2 - centre
        planes = [
            cv2.warpAffine(plane, matrix, frame.tolist(), flags=cv2.INTER_CUBIC, borderValue=(fill,) * 3)
            for plane, fill in zip(view.planes, FILLS, strict=False)
        ]
        return view.moved(planes, matrix[:, :2], matrix[:, 2])

    def _crop(self, view: PoseView, random: Random) -> PoseView:
        p = self._p
        shift = [int((random.random() - 0.5) * 2 * p.center_perterb_max) for _ in range(2)]
        centre = np.rint(view.people[0, 0, :2] + np.array(shift, np.float32)).astype(int)
        left, top = (centre - (p.crop_size_x // 2, p.crop_size_y // 2)).tolist()
        canvas, window = Canvas(*view.size), PixelWindow(top, left, p.crop_size_y, p.crop_size_x)
        planes = [
            canvas.filled(canvas.part(plane, window), window, np.array([fill], np.uint8))
            for plane, fill in zip(view.planes, FILLS, strict=False)
        ]
        return view.moved(planes, np.eye(2, dtype=np.float32), np.array([-left, -top], np.float32))

    def _mirror(self, view: PoseView, random: Random) -> PoseView:
        if random.random() >= self._p.flip_prob:
            return view
        planes = [np.ascontiguousarray(plane[:, ::-1]) for plane in view.planes]
        last = np.array([view.size[1] - 1, 0], np.float32)
        mirrored = view.moved(planes, np.diag(np.array([-1, 1], np.float32)), last)
        return PoseView(mirrored.planes, mirrored.people[:, self._mirrored])
