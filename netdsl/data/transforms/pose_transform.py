"""Transforms of an image with people into an input of a pose net, and into the maps of joints and limbs that it
learns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Canvas, PixelWindow
from netdsl.data.transforms.decode import image_limit, opencv
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.pose_skeleton import Skeleton, Visibility
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_LARGEST_EXPONENT = 4.6052  # in Caffe, a gaussian ends where it has dropped to one hundredth
_LIMB_STRIDE = 8  # in Caffe, limbs are drawn for this stride, whatever the net's stride
_LIMB_WIDTH = 1  # on each side, in map pixels

Grid = tuple[int, int]  # the height and width of a map
PoseSettings = pb.CPMTransformationParameter | pb.TransformationParameter
FILLS = (128, 255)  # values outside an image, and outside its mask
_MIDDLE, _RANGE = 128, 256  # of a byte
_LIMB_CHANNELS = 6  # of an input; three of them are the image


def joint_map(points: Pixels, grid: Grid, stride: int, sigma: float) -> Pixels:
    """Return a map with a gaussian around every point (x, y), in pixels of the image. Their sum is limited to 1."""
    rows, columns = ((stride - 1) / 2 + stride * np.arange(length, dtype=np.float32) for length in grid)
    total = np.zeros(grid, np.float32)
    for x, y in points:
        exponent = ((columns - x) ** 2 + (rows[:, None] - y) ** 2) / (2 * sigma * sigma)
        total += np.where(exponent > _LARGEST_EXPONENT, 0, np.exp(-exponent)).astype(np.float32)
    return np.minimum(total, 1)


def limb_map(limbs: Iterable[tuple[Pixels, Pixels]], grid: Grid) -> Pixels:
    """Return a map of x and y of each limb's direction.

    Where limbs of several people cross, the last one counts. The fork is meant to average them, but counts them
    wrongly.
    """
    field = np.zeros((2, *grid), np.float32)
    for begin, end in limbs:
        _draw_limb(field, begin / _LIMB_STRIDE, end / _LIMB_STRIDE)
    return field


def _draw_limb(field: Pixels, begin: Pixels, end: Pixels) -> None:
    x, y = end - begin
    length = np.sqrt(x * x + y * y)
    if not length:
        return
    direction = (end - begin) / length
    left, top = _places(np.minimum(begin, end) - _LIMB_WIDTH, field)
    right, bottom = _places(np.maximum(begin, end) + _LIMB_WIDTH, field)
    columns, rows = np.arange(left, right, dtype=np.float32), np.arange(top, bottom, dtype=np.float32)[:, None]
    distance = np.abs((columns - begin[0]) * direction[1] - (rows - begin[1]) * direction[0])
    part = field[:, top:bottom, left:right]
    part[...] = np.where(distance <= _LIMB_WIDTH, direction[:, None, None], part)


def _places(point: Pixels, field: Pixels) -> list[int]:
    """Return the nearest column and row in the map for a point. As in C, halves are rounded up."""
    _, height, width = field.shape
    nearest: list[int] = np.clip(np.floor(point + 0.5), 0, (width, height)).astype(int).tolist()
    return nearest


def with_background(maps: Pixels) -> Pixels:
    """Return maps of joints, followed by a map that is 1 where there is no joint."""
    background = np.maximum(1 - maps.max(0, initial=0), 0)
    result: Pixels = np.concatenate([maps, background[None]])
    return result


@dataclass(frozen=True)
class PoseView:
    """An image, and its mask if it has one, as height, width, channels, with its people.

    A person is rows of three numbers: x, y and scale of the person, and then x, y and visibility of each joint.
    """

    planes: tuple[Array, ...]
    people: Pixels

    @property
    def size(self) -> tuple[int, int]:
        """The height and width."""
        height, width = self.planes[0].shape[:2]
        return height, width

    def moved(self, planes: Sequence[Array], factors: Pixels, offset: Pixels) -> PoseView:
        """Return a view with other planes, whose points are at factors * (x, y) + offset."""
        people = self.people.copy()
        people[..., :2] = people[..., :2] @ factors.T + offset
        return PoseView(tuple(plane.reshape(*plane.shape[:2], -1) for plane in planes), people)


class PoseViews:
    """Draws views. As in Caffe, the order of random numbers is scale, rotation, place, mirror."""

    def __init__(self, p: PoseSettings, skeleton: Skeleton) -> None:
        self._p = p
        self._mirrored = [0, *(1 + joint for joint in skeleton.mirrored)]

    def __call__(self, view: PoseView, random: Random) -> PoseView:
        """Return a view of the first person, in the size of the crop."""
        return self._mirror(self._crop(self._rotate(self._scale(view, random), random), random), random)

    def _scale(self, view: PoseView, random: Random) -> PoseView:
        p, factor = self._p, 1.0
        if random.random() < p.scale_prob:
            factor = (p.scale_max - p.scale_min) * random.random() + p.scale_min
        scale = float(np.float32(p.target_dist / view.people[0, 0, 2]) * np.float32(factor))
        height, width = (side * scale for side in view.size)
        if not (min(height, width) >= 1 and height * width <= image_limit().pixels):
            raise DataError(
                f"a person of scale {view.people[0, 0, 2]:g} would need an image of {height:g} x {width:g}; "
                "correct its scale in the database, or lower scale_max and target_dist"
            )
        cv2 = opencv()
        planes = [cv2.resize(plane, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC) for plane in view.planes]
        return view.moved(planes, np.eye(2, dtype=np.float32) * np.float32(scale), np.zeros(2, np.float32))

    def _rotate(self, view: PoseView, random: Random) -> PoseView:
        """Return the whole image, rotated. As in Caffe, its frame is one pixel wider and higher than needed."""
        cv2, (height, width) = opencv(), view.size
        degrees = (random.random() - 0.5) * 2 * self._p.max_rotate_degree
        center = width / 2, height / 2
        matrix = cv2.getRotationMatrix2D(center, degrees, 1)
        corners = cv2.boxPoints((center, (width, height), degrees))
        frame = (np.ceil(corners.max(0)) - np.floor(corners.min(0))).astype(int) + 1
        matrix[:, 2] += frame / 2 - center
        planes = [
            cv2.warpAffine(plane, matrix, frame.tolist(), flags=cv2.INTER_CUBIC, borderValue=(fill,) * 3)
            for plane, fill in zip(view.planes, FILLS, strict=False)
        ]
        return view.moved(planes, matrix[:, :2], matrix[:, 2])

    def _crop(self, view: PoseView, random: Random) -> PoseView:
        p = self._p
        shift = [int((random.random() - 0.5) * 2 * p.center_perterb_max) for _ in range(2)]
        center = np.rint(view.people[0, 0, :2] + np.array(shift, np.float32)).astype(int)
        left, top = (center - (p.crop_size_x // 2, p.crop_size_y // 2)).tolist()
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


class PoseTransform:
    """The transform of all pose nets for an image and its people."""

    def __init__(self, p: PoseSettings, skeleton: Skeleton, *, train: bool) -> None:
        _check_settings(p)
        self._p, self._skeleton = p, skeleton
        self._views = PoseViews(p, skeleton) if train else None

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int) -> tuple[Array, ...]:
        """Return the input and the maps. All random numbers come from `random`."""
        *planes, people = item
        stored = people.astype(np.float32)
        joints = np.concatenate([stored[:, :1], self._skeleton.of_stored(stored[:, 1:])], axis=1)
        pixels, *masks = (np.ascontiguousarray(plane.transpose(1, 2, 0)) for plane in planes)
        view = PoseView((self._colored(pixels), *masks), joints)
        if self._views:
            view = self._views(view, random)
        return self._input(view), self._maps(view)

    def _colored(self, pixels: Array) -> Array:
        """Return an image with more contrast, or without colors, according to the settings."""
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
            raise DataError(
                f"an image of {height} x {width} is too small for maps with a stride of {self._p.stride}; use "
                "larger images, or lower stride"
            )
        return height // self._p.stride, width // self._p.stride

    def _joint_maps(self, people: Pixels, grid: Grid) -> Pixels:
        """Return a map for each joint of these people, followed by the background."""
        marked = people[:, 1:, 2] <= Visibility.SHOWN
        maps = [
            joint_map(people[marked[:, joint], 1 + joint, :2], grid, self._p.stride, self._p.sigma)
            for joint in range(len(self._skeleton))
        ]
        return with_background(np.stack(maps))


class LimbPoseTransform(PoseTransform):
    """Maps of all people's limbs and joints, preceded by a weight for each map.

    The weights come from the mask. As in Caffe, they are 0 for the map whose index is that of an unmarked joint. The
    fork leaves these maps uninitialized. The input has three channels of zeros after the image.
    """

    def _input(self, view: PoseView) -> Pixels:
        pixels = np.zeros((_LIMB_CHANNELS, *view.size), np.float32)
        pixels[:3] = _centered(view)
        return pixels

    def _maps(self, view: PoseView) -> Pixels:
        grid, people = self._grid(view), view.people
        limbs = [limb_map(self._ends(people, *limb), grid) for limb in self._skeleton.limbs]
        maps = np.concatenate([*limbs, self._joint_maps(people, grid)])
        weights = np.repeat(self._weight(view.planes[1], grid)[None], len(maps), axis=0)
        weights[np.flatnonzero(people[0, 1:, 2] == Visibility.UNKNOWN)] = 0
        return np.concatenate([weights, maps])

    def _ends(self, people: Pixels, begin: int, end: int) -> list[tuple[Pixels, Pixels]]:
        """Return both ends of a limb for each person whose two joints are marked."""
        both = people[:, [1 + begin, 1 + end]]
        return [(a[:2], b[:2]) for a, b in both if max(a[2], b[2]) <= Visibility.SHOWN]

    def _weight(self, mask: Array, grid: Grid) -> Pixels:
        cv2, part = opencv(), 1 / self._p.stride
        smaller = cv2.resize(mask, None, fx=part, fy=part, interpolation=cv2.INTER_CUBIC)
        weight: Pixels = smaller[: grid[0], : grid[1]].astype(np.float32) / 255
        return weight


class CenteredPoseTransform(PoseTransform):
    """Maps of the first person's joints, and of all people's joints. A gaussian marks the first person's place for the
    net."""

    def _input(self, view: PoseView) -> Pixels:
        p = self._p
        assert isinstance(p, pb.TransformationParameter)
        if not p.put_gaussian:
            return _centered(view)
        center = joint_map(view.people[:1, 0, :2], view.size, 1, p.sigma_center)
        return np.concatenate([_centered(view), center[None]])

    def _maps(self, view: PoseView) -> Pixels:
        grid = self._grid(view)
        return np.concatenate([self._joint_maps(view.people[:1], grid), self._joint_maps(view.people, grid)])


def _centered(view: PoseView) -> Pixels:
    """Return the image as channels, height, width, with values around zero."""
    pixels: Pixels = (view.planes[0].transpose(2, 0, 1).astype(np.float32) - _MIDDLE) / _RANGE
    return pixels


def _check_settings(p: PoseSettings) -> None:
    if p.aug_way != "rand":
        raise DataError(f"aug_way '{p.aug_way}' reads random numbers from the fork's own files; set aug_way: 'rand'")
    if not 1 <= p.stride <= min(p.crop_size_x, p.crop_size_y):
        raise DataError(
            f"a stride of {p.stride} leaves no map for a crop of {p.crop_size_y} x {p.crop_size_x}; lower stride"
        )
    if p.do_clahe and p.clahe_tile_size < 1:
        raise DataError(f"clahe_tile_size is {p.clahe_tile_size:g}; set it to 1 or more")
    if min(p.sigma, p.sigma_center, p.target_dist) <= 0:
        raise DataError(
            f"sigma is {p.sigma:g}, sigma_center {p.sigma_center:g} and target_dist {p.target_dist:g}; "
            "set each of them above 0"
        )
