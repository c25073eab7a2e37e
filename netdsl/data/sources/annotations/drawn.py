"""Draws images with marked objects: shapes to detect and segment, and people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Joint, MarkedObject, RunLengths
from netdsl.data.sources.annotations.masks import Mask, edges_of
from netdsl.data.sources.class_names import BACKGROUND
from netdsl.data.sources.shapes import CLASSES, KINDS_OF_SHAPES, coverage
from netdsl.data.sources.source import DataSplit
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.errors import DataError

COUNTS = {DataSplit.TRAIN: 1000, DataSplit.TEST: 200}
SIDES = 32, 1024  # the least and the largest number of pixels on each side of an image
_NOISE = 14.0  # standard deviation of the noise, for pixels from 0 to 255
_MOST_SHAPES = 4  # in an image
_RADII = 0.1, 0.24  # as a share of a side; boxes are then between a tenth and half of a side
_OUTSIDE = 0.06  # distance from a shape's center to the edge, as a share of a side; some shapes extend beyond the image
_HIDDEN = 0.5  # hidden or outside share of a shape, from which on the shape is difficult
_LEAST_SEEN = 0.15  # visible share of a shape, below which it isn't drawn
_COLOR_SPREAD = 0.25  # of a class's colors, as a share of the distance to the next class's colors
_MOST_PEOPLE = 3  # in an image
_HEIGHTS = 0.5, 0.9  # as shares of a side
_UNMARKED = 0.15  # share of people without marked joints
_LEAST_MARKED = 0.2  # visible share of a person, below which joints aren't marked
_PLACES = 0.25, 0.75  # range of people's hips, as shares of a side
_PERSON = 1  # the label
Points = NDArray[np.float64]
# As shares of a person's height, to the right of and above the center of the hips.
# Nose, eyes and ears, with left before right.
_HEAD = ((0, 0.40), (0.03, 0.43), (-0.03, 0.43), (0.06, 0.42), (-0.06, 0.42))
_SHOULDERS, _HIPS = ((0.11, 0.30), (-0.11, 0.30)), ((0.07, 0.0), (-0.07, 0.0))
_ARM, _LEG = (0.16, 0.15), (0.23, 0.22)  # the lengths of the upper and the lower part
_RAISED, _SPREAD_OF_LEGS = (-0.3, 2.6), (-0.1, 0.6)  # angles of arms and legs, outwards from straight down
_BENT = 0.7  # the largest angle of an elbow or a knee
_LEAN = 0.3  # the largest lean of a person
_LIMB, _SKULL = 0.055, 0.08  # the thickness of limbs and the radius of heads
_LIMBS = ((5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16))
_TRUNK = (5, 6, 12, 11)
_LEFT = (5, 7, 11, 13)  # the joints where left limbs begin
_DARK = 0.6  # brightness of left limbs, as a share of that of right limbs
_NOT_MARKED = Joint(0, 0, Visibility.UNKNOWN)


class DrawnPictures:
    """Square images, each of which depends only on its number, the split and the settings."""

    kind: str
    side: int  # the default size of the images
    first_pixel = 0

    def __init__(self, split: DataSplit, *, side: int | None = None, count: int | None = None) -> None:
        side = self.side if side is None else side
        if not SIDES[0] <= side <= SIDES[1]:
            raise DataError(f"{self.kind}: side is {side}; set it to {SIDES[0]} to {SIDES[1]:,} pixels")
        if count is not None and count < 1:
            raise DataError(f"{self.kind}: count is {count}; set it to 1 or more")
        self._split, self.side = split, side
        self._count = COUNTS[split] if count is None else count

    def __len__(self) -> int:
        return self._count

    def _random(self, index: int) -> np.random.Generator:
        """Return the random numbers for an image."""
        return np.random.default_rng((list(DataSplit).index(self._split), index))

    def _picture(
        self, index: int, pixels: NDArray[np.float64], objects: Iterable[MarkedObject], random: np.random.Generator
    ) -> AnnotatedImage:
        """Return an image with its objects. Noise is added to its pixels."""
        noisy = np.clip(pixels + random.normal(0, _NOISE, pixels.shape), 0, 255).astype(np.uint8)
        name = f"{self._split.value}_{index:06}"
        data = bytes(opencv().imencode(".png", noisy)[1])
        return AnnotatedImage(name, Path(f"{self.kind}:{name}"), self.side, self.side, tuple(objects), encoded=data)


def drawn_ground(random: np.random.Generator, side: int) -> NDArray[np.float64]:
    """Return a background of nearly gray colors that changes from corner to corner."""
    corners = random.uniform(40, 200, (2, 2, 1)) + random.uniform(-20, 20, (2, 2, 3))
    across = np.linspace(0, 1, side)[:, None]
    rows = corners[0] * (1 - across)[:, :, None] + corners[1] * across[:, :, None]  # axes: side, 2, 3
    ground: NDArray[np.float64] = rows[:, :1] * (1 - across)[None] + rows[:, 1:] * across[None]
    return ground


@dataclass(frozen=True)
class DrawnShape:
    """A shape: its class, the pixels that it covers, how many it would cover if none were outside, and its color."""

    label: int
    mask: Mask
    whole: int
    color: NDArray[np.float64]


class DrawnObjects(DrawnPictures):
    """Up to four shapes in each image, with random places, sizes and angles. Later shapes cover earlier ones.

    The colors of a class vary around a color that only this class has. Masks and boxes cover the visible pixels.
    Shapes that are mostly hidden or outside are difficult. Shapes that extend beyond the image are truncated.
    """

    kind, side = "objects", 96

    def __init__(
        self, split: DataSplit, *, kinds: Sequence[str] = CLASSES, side: int = side, count: int | None = None
    ) -> None:
        for name in kinds:
            if name not in KINDS_OF_SHAPES:
                raise DataError(f"objects: there is no shape '{name}'; choose from {', '.join(KINDS_OF_SHAPES)}")
        super().__init__(split, side=side, count=count)
        self.classes, self._kinds = (BACKGROUND, *kinds), tuple(kinds)

    def image(self, index: int) -> AnnotatedImage:
        """Return an image and its objects."""
        side, random = self.side, self._random(index)
        pixels, seen = drawn_ground(random, side), np.zeros((side, side), np.int64)
        shapes: list[DrawnShape] = []
        for _ in range(random.integers(1, _MOST_SHAPES + 1)):
            shape = self._shape(random)
            hidden = [(shape.mask & (seen == number)).sum() for number in range(1, len(shapes) + 1)]
            visible = [(seen == number).sum() for number in range(1, len(shapes) + 1)]
            least = [_LEAST_SEEN * drawn.whole for drawn in shapes]
            if shape.mask.sum() < _LEAST_SEEN * shape.whole or (np.subtract(visible, hidden) < least).any():
                continue  # it would hide another shape
            shapes.append(shape)
            seen[shape.mask] = len(shapes)
            pixels[shape.mask] = shape.color
        objects = [_marked(shape, seen == number) for number, shape in enumerate(shapes, 1)]
        return self._picture(index, pixels, objects, random)

    def _shape(self, random: np.random.Generator) -> DrawnShape:
        """Return a shape at a random place."""
        side, kind = self.side, int(random.integers(len(self._kinds)))
        size, turn = random.uniform(*_RADII) * side, random.uniform(0, 2 * np.pi)
        x, y = random.uniform(_OUTSIDE * side, (1 - _OUTSIDE) * side, 2)
        margin = side // 2  # around the image, so that the whole shape is inside the margin
        covered = coverage(self._kinds[kind], (x + margin, y + margin), size, turn, (2 * side, 2 * side)) > 0.5
        mask = covered[margin : margin + side, margin : margin + side]
        return DrawnShape(kind + 1, mask, int(covered.sum()), _color(kind, len(self._kinds), random))


def _color(kind: int, kinds: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return a color for a class. The classes divide the color circle evenly."""
    turn = 2 * np.pi * (kind + random.uniform(-_COLOR_SPREAD, _COLOR_SPREAD)) / kinds
    light = random.uniform(120, 150)
    return np.clip(light + 105 * np.cos(turn - np.arange(3) * 2 * np.pi / 3), 0, 255)


def _marked(shape: DrawnShape, visible: Mask) -> MarkedObject:
    return MarkedObject(
        shape.label,
        edges_of(visible),
        difficult=bool(visible.sum() < (1 - _HIDDEN) * shape.whole),
        truncated=bool(shape.mask.sum() < shape.whole),
        runs=RunLengths.of(visible),
        area=float(visible.sum()),
    )


class DrawnPeople(DrawnPictures):
    """Up to three people in each image, who face the viewer and partly hide each other.

    Their joints are COCO's. Joints behind another person are hidden, and joints outside the image are unmarked. Mostly
    hidden people and some others have no marked joints. Left arms and legs are darker than right ones.
    """

    kind, side = "people", 160
    classes = (BACKGROUND, "person")

    def image(self, index: int) -> AnnotatedImage:
        """Return an image and its people."""
        side, random = self.side, self._random(index)
        pixels, seen = drawn_ground(random, side), np.zeros((side, side), np.int64)
        poses, wholes = list[Points](), list[int]()
        for number in range(1, int(random.integers(1, _MOST_PEOPLE + 1)) + 1):
            poses.append(_pose(random) * random.uniform(*_HEIGHTS) * side + random.uniform(*_PLACES, 2) * side)
            mask = _draw(pixels, poses[-1], random)
            seen[mask] = number
            wholes.append(int(mask.sum()))
        objects = []
        for number, (pose, whole) in enumerate(zip(poses, wholes, strict=True), 1):
            visible = seen == number
            known = random.random() >= _UNMARKED and visible.sum() >= _LEAST_MARKED * whole
            if visible.any():
                objects.append(_person(visible, _joints(pose, visible) if known else (_NOT_MARKED,) * len(pose)))
        return self._picture(index, pixels, objects, random)


def _pose(random: np.random.Generator) -> Points:
    """Return the joints of a person of height 1, as x and y from the center of the hips. The y axis points
    downwards."""
    shoulders, hips = np.array(_SHOULDERS), np.array(_HIPS)
    arms = _limbs(shoulders, _ARM, _RAISED, random)
    legs = _limbs(hips, _LEG, _SPREAD_OF_LEGS, random)
    joints = np.concatenate([_HEAD, shoulders, *arms, hips, *legs])
    lean = random.uniform(-_LEAN, _LEAN)
    turn = np.array([[np.cos(lean), np.sin(lean)], [-np.sin(lean), np.cos(lean)]])
    pose: Points = joints @ turn * (1, -1)
    return pose


def _limbs(
    ends: Points, lengths: tuple[float, float], angles: tuple[float, float], random: np.random.Generator
) -> tuple[Points, Points]:
    """Return the middle joints of both limbs, with the left limb first, and then their last joints."""
    outwards = random.uniform(*angles, 2)
    middles = ends + lengths[0] * _direction(outwards)
    return middles, middles + lengths[1] * _direction(outwards + random.uniform(-_BENT, _BENT, 2))


def _direction(outwards: Points) -> Points:
    """Return directions for angles from straight down, for the left side and then the right side."""
    return np.stack([np.sin(outwards) * (1, -1), -np.cos(outwards)], axis=1)


def _draw(pixels: Points, joints: Points, random: np.random.Generator) -> Mask:
    """Draw a person, and return the pixels that it covers."""
    cv2, (skin, shirt) = opencv(), random.uniform((90, 0), (255, 255), (3, 2)).T
    height = np.hypot(*(joints[5] - joints[6])) / np.hypot(*np.subtract(*_SHOULDERS))
    places, thickness = np.rint(joints).astype(int), max(1, round(_LIMB * height))
    mask = np.zeros(pixels.shape[:2], np.uint8)

    def paint(part: NDArray[np.uint8], color: Points) -> None:
        pixels[part > 0] = color
        mask[part > 0] = 1

    for begin, end in _LIMBS:
        limb = np.zeros_like(mask)
        cv2.line(limb, places[begin].tolist(), places[end].tolist(), 1, thickness)
        paint(limb, skin * (_DARK if begin in _LEFT else 1))
    paint(cv2.fillPoly(np.zeros_like(mask), [places[list(_TRUNK)].astype(np.int32)], 1), shirt)
    paint(cv2.circle(np.zeros_like(mask), places[0].tolist(), max(2, round(_SKULL * height)), 1, -1), skin)
    return mask.astype(bool)


def _joints(pose: Points, visible: Mask) -> tuple[Joint, ...]:
    """Return the joints of a person with these visible pixels."""
    return tuple(_joint(x, y, visible) for x, y in np.rint(pose).astype(int).tolist())


def _joint(x: int, y: int, visible: Mask) -> Joint:
    side = len(visible)
    if not (0 <= x < side and 0 <= y < side):
        return _NOT_MARKED
    return Joint(float(x), float(y), Visibility.SHOWN if visible[y, x] else Visibility.HIDDEN)


def _person(visible: Mask, joints: tuple[Joint, ...]) -> MarkedObject:
    return MarkedObject(
        _PERSON, edges_of(visible), runs=RunLengths.of(visible), area=float(visible.sum()), joints=joints
    )
