"""Transforms of an image with people into an input of a pose net, and maps of joints and limbs that it learns from."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.pose_maps import Grid, joint_map, limb_map, with_background
from netdsl.data.transforms.pose_skeleton import Skeleton, Visibility
from netdsl.data.transforms.pose_views import PoseSettings, PoseView, PoseViews
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_MIDDLE, _RANGE = 128, 256  # of a byte
_LIMB_CHANNELS = 6  # of an input, of which three are the image


class PoseTransform:
    """What every pose net's settings make of an image and the people in it."""

    def __init__(self, p: PoseSettings, skeleton: Skeleton, *, train: bool) -> None:
        _check(p)
        self._p, self._skeleton = p, skeleton
        self._views = PoseViews(p, skeleton) if train else None

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int) -> tuple[Array, ...]:
        """The input and the maps. All random numbers are from `random`."""
        *planes, people = item
        stored = people.astype(np.float32)
        joints = np.concatenate([stored[:, :1], self._skeleton.of_stored(stored[:, 1:])], axis=1)
        pixels, *masks = (np.ascontiguousarray(plane.transpose(1, 2, 0)) for plane in planes)
        view = PoseView((self._coloured(pixels), *masks), joints)
        if self._views:
            view = self._views(view, random)
        return self._input(view), self._maps(view)

    def _coloured(self, pixels: Array) -> Array:
        """An image with more contrast, or without colours, if the settings say so."""
        p, cv2 = self._p, opencv()
        if p.do_clahe:
            tiles = int(p.clahe_tile_size)
            planes = list(cv2.split(cv2.cvtColor(pixels, cv2.COLOR_BGR2Lab)))
            planes[0] = cv2.createCLAHE(int(p.clahe_clip_limit), (tiles, tiles)).apply(planes[0])
            pixels = cv2.cvtColor(cv2.merge(planes), cv2.COLOR_Lab2BGR)
        if p.gray == 1:
            pixels = cv2.cvtColor(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
        return np.asarray(pixels)

    def _input(self, view: PoseView) -> Pixels:
        raise NotImplementedError

    def _maps(self, view: PoseView) -> Pixels:
        raise NotImplementedError

    def _grid(self, view: PoseView) -> Grid:
        height, width = view.size
        if min(height, width) < self._p.stride:
            raise DataError(f"an image of {height} x {width} has no place in maps with a stride of {self._p.stride}")
        return height // self._p.stride, width // self._p.stride

    def _joint_maps(self, people: Pixels, grid: Grid) -> Pixels:
        """A map for each joint of these people, and the background."""
        marked = people[:, 1:, 2] <= Visibility.SHOWN
        maps = [
            joint_map(people[marked[:, joint], 1 + joint, :2], grid, self._p.stride, self._p.sigma)
            for joint in range(len(self._skeleton))
        ]
        return with_background(np.stack(maps))


class LimbPoseTransform(PoseTransform):
    """Maps for all people's limbs and joints, behind a weight for each map.

    The weights are those of the mask. Caffe's rule: they are 0 for maps with the number of a joint that nobody marked,
    where the fork leaves what lay in its memory. The input has three channels of zeros behind the image.
    """

    def _input(self, view: PoseView) -> Pixels:
        pixels = np.zeros((_LIMB_CHANNELS, *view.size), np.float32)
        pixels[:3] = _centred(view)
        return pixels

    def _maps(self, view: PoseView) -> Pixels:
        grid, people = self._grid(view), view.people
        limbs = [limb_map(self._ends(people, *limb), grid) for limb in self._skeleton.limbs]
        maps = np.concatenate([*limbs, self._joint_maps(people, grid)])
        weights = np.repeat(self._weight(view.planes[1], grid)[None], len(maps), axis=0)
        weights[np.flatnonzero(people[0, 1:, 2] == Visibility.UNKNOWN)] = 0
        return np.concatenate([weights, maps])

    def _ends(self, people: Pixels, begin: int, end: int) -> list[tuple[Pixels, Pixels]]:
        """Where a limb begins and ends, of everybody whose joints are both marked."""
        both = people[:, [1 + begin, 1 + end]]
        return [(a[:2], b[:2]) for a, b in both if max(a[2], b[2]) <= Visibility.SHOWN]

    def _weight(self, mask: Array, grid: Grid) -> Pixels:
        cv2, part = opencv(), 1 / self._p.stride
        smaller = cv2.resize(mask, None, fx=part, fy=part, interpolation=cv2.INTER_CUBIC)
        weight: Pixels = smaller[: grid[0], : grid[1]].astype(np.float32) / 255
        return weight


class CentredPoseTransform(PoseTransform):
    """Maps for the first person's joints, and for everybody's. A gaussian shows the net where the first person is."""

    def _input(self, view: PoseView) -> Pixels:
        p = self._p
        assert isinstance(p, pb.TransformationParameter)
        if not p.put_gaussian:
            return _centred(view)
        centre = joint_map(view.people[:1, 0, :2], view.size, 1, p.sigma_center)
        return np.concatenate([_centred(view), centre[None]])

    def _maps(self, view: PoseView) -> Pixels:
        grid = self._grid(view)
        return np.concatenate([self._joint_maps(view.people[:1], grid), self._joint_maps(view.people, grid)])


def _centred(view: PoseView) -> Pixels:
    """The image as channels, height, width, with values around zero."""
    pixels: Pixels = (view.planes[0].transpose(2, 0, 1).astype(np.float32) - _MIDDLE) / _RANGE
    return pixels


def _check(p: PoseSettings) -> None:
    if p.aug_way != "rand":
        raise DataError(f"aug_way '{p.aug_way}' reads what to draw from files of the fork's; take 'rand'")
    if not 1 <= p.stride <= min(p.crop_size_x, p.crop_size_y):
        raise DataError(f"a stride of {p.stride} leaves no map of a crop of {p.crop_size_y} x {p.crop_size_x}")
    if p.do_clahe and p.clahe_tile_size < 1:
        raise DataError(f"clahe_tile_size is {p.clahe_tile_size:g}; it must be 1 or more")
    if min(p.sigma, p.sigma_center, p.target_dist) <= 0:
        raise DataError("sigma, sigma_center and target_dist must be above 0")
