"""Pictures with marked objects that are drawn by this program: shapes to detect and to segment, and people."""

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
SIDES = 32, 1024  # pixels of a picture's sides, at least and at most
_NOISE = 14.0  # standard deviation of pixels, of 255
_MOST_SHAPES = 4  # on a picture
_RADII = 0.1, 0.24  # parts of a side, which boxes of more than a tenth and less than half of it come of
_OUTSIDE = 0.06  # parts of a side that a shape's middle keeps from the edge: some shapes go on outside
_HIDDEN = 0.5  # part of a shape that others hide, or that is outside, from which on it is difficult
_LEAST_SEEN = 0.15  # part that must be seen of a shape, else it isn't drawn
_COLOR_SPREAD = 0.25  # of a class's colours, in parts of the way to the next class's
_MOST_PEOPLE = 3  # on a picture
_HEIGHTS = 0.5, 0.9  # parts of a side
_UNMARKED = 0.15  # part of the people whose joints nobody marked
_LEAST_MARKED = 0.2  # part of a person that is seen, below which nobody marked the joints
_PLACES = 0.25, 0.75  # parts of a side, between which people's hips are
_PERSON = 1  # the label
Points = NDArray[np.float64]
# In parts of a person's height, across and up from the middle of the hips.
_HEAD = ((0, 0.40), (0.03, 0.43), (-0.03, 0.43), (0.06, 0.42), (-0.06, 0.42))  # nose, eyes, ears; left is first
_SHOULDERS, _HIPS = ((0.11, 0.30), (-0.11, 0.30)), ((0.07, 0.0), (-0.07, 0.0))
_ARM, _LEG = (0.16, 0.15), (0.23, 0.22)  # the upper part's and the lower one's length
_RAISED, _SPREAD_OF_LEGS = (-0.3, 2.6), (-0.1, 0.6)  # angles of arms and of legs, outwards from straight down
_BENT = 0.7  # the largest angle of an elbow or a knee
_LEAN = 0.3  # the largest angle of a person
_LIMB, _SKULL = 0.055, 0.08  # how thick limbs are, and how large heads
_LIMBS = ((5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16))
_TRUNK = (5, 6, 12, 11)
_LEFT = (5, 7, 11, 13)  # joints where left limbs begin
_DARK = 0.6  # part of a right limb's brightness that a left one has
_NOT_MARKED = Joint(0, 0, Visibility.UNKNOWN)


class DrawnPictures:
    """Square pictures, each of which follows from its number, the split and the settings alone."""

    kind: str
    side: int  # of the pictures, by default
    first_pixel = 0

    def __init__(self, split: DataSplit, *, side: int | None = None, count: int | None = None) -> None:
        side = self.side if side is None else side
        if not SIDES[0] <= side <= SIDES[1]:
            raise DataError(f"{self.kind}: pictures have sides of {SIDES[0]} to {SIDES[1]:,} pixels, not {side}")
        if count is not None and count < 1:
            raise DataError(f"{self.kind}: count must be at least 1")
        self._split, self.side = split, side
        self._count = COUNTS[split] if count is None else count

    def __len__(self) -> int:
        return self._count

    def _random(self, index: int) -> np.random.Generator:
        """Return the random numbers of a picture."""
        return np.random.default_rng((list(DataSplit).index(self._split), index))

    def _picture(
        self, index: int, pixels: NDArray[np.float64], objects: Iterable[MarkedObject], random: np.random.Generator
    ) -> AnnotatedImage:
        """Return a picture with its objects, whose pixels get noise."""
        noisy = np.clip(pixels + random.normal(0, _NOISE, pixels.shape), 0, 255).astype(np.uint8)
        name = f"{self._split.value}_{index:06}"
        data = bytes(opencv().imencode(".png", noisy)[1])
        return AnnotatedImage(name, Path(f"{self.kind}:{name}"), self.side, self.side, tuple(objects), encoded=data)


def drawn_ground(random: np.random.Generator, side: int) -> NDArray[np.float64]:
    """Return a ground that changes from corner to corner, in grays with little colour."""
    corners = random.uniform(40, 200, (2, 2, 1)) + random.uniform(-20, 20, (2, 2, 3))
    across = np.linspace(0, 1, side)[:, None]
    rows = corners[0] * (1 - across)[:, :, None] + corners[1] * across[:, :, None]  # side, 2, 3
    ground: NDArray[np.float64] = rows[:, :1] * (1 - across)[None] + rows[:, 1:] * across[None]
    return ground


@dataclass(frozen=True)
class DrawnShape:
    """A shape: its class, the pixels that it covers, how many it would cover if none were outside, and its colour."""

    label: int
    mask: Mask
    whole: int
    color: NDArray[np.float64]


class DrawnObjects(DrawnPictures):
    """Up to four shapes on each picture, at random places, in random sizes and turns, one over the other.

    Each class has a colour of its own, which varies. Masks and boxes are those of what is seen. Shapes that are mostly
    hidden or outside are difficult; those that go on outside are truncated.
    """

    kind, side = "objects", 96

    def __init__(
        self, split: DataSplit, *, kinds: Sequence[str] = CLASSES, side: int = side, count: int | None = None
    ) -> None:
        for name in kinds:
            if name not in KINDS_OF_SHAPES:
                raise DataError(f"objects: there is no shape '{name}'; there are {', '.join(KINDS_OF_SHAPES)}")
        super().__init__(split, side=side, count=count)
        self.classes, self._kinds = (BACKGROUND, *kinds), tuple(kinds)

    def image(self, index: int) -> AnnotatedImage:
        """Return a picture and its objects."""
        side, random = self.side, self._random(index)
        pixels, seen = drawn_ground(random, side), np.zeros((side, side), np.int64)
        shapes: list[DrawnShape] = []
        for _ in range(random.integers(1, _MOST_SHAPES + 1)):
            shape = self._shape(random)
            hidden = [(shape.mask & (seen == number)).sum() for number in range(1, len(shapes) + 1)]
            visible = [(seen == number).sum() for number in range(1, len(shapes) + 1)]
            least = [_LEAST_SEEN * drawn.whole for drawn in shapes]
            if shape.mask.sum() < _LEAST_SEEN * shape.whole or (np.subtract(visible, hidden) < least).any():
                continue  # it would hide another one
            shapes.append(shape)
            seen[shape.mask] = len(shapes)
            pixels[shape.mask] = shape.color
        objects = [_marked(shape, seen == number) for number, shape in enumerate(shapes, 1)]
        return self._picture(index, pixels, objects, random)

    def _shape(self, random: np.random.Generator) -> DrawnShape:
        """Return a shape somewhere."""
        side, kind = self.side, int(random.integers(len(self._kinds)))
        size, turn = random.uniform(*_RADII) * side, random.uniform(0, 2 * np.pi)
        x, y = random.uniform(_OUTSIDE * side, (1 - _OUTSIDE) * side, 2)
        margin = side // 2  # around the picture, in which all of the shape is
        covered = coverage(self._kinds[kind], (x + margin, y + margin), size, turn, (2 * side, 2 * side)) > 0.5
        mask = covered[margin : margin + side, margin : margin + side]
        return DrawnShape(kind + 1, mask, int(covered.sum()), _color(kind, len(self._kinds), random))


def _color(kind: int, kinds: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return a colour of a class: classes have their places on the circle of colours, at equal distances."""
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
    """Up to three people on each picture, one in front of the other, who face the viewer.

    Their joints are COCO's. Those behind somebody else are hidden, those outside of the picture aren't marked, and of
    people who are mostly hidden, and of some others, none is. Left arms and legs are darker than right ones.
    """

    kind, side = "people", 160
    classes = (BACKGROUND, "person")

    def image(self, index: int) -> AnnotatedImage:
        """Return a picture and its people."""
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
    """Return the joints of a person of height 1, as x and y from the middle of the hips, y growing downwards."""
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
    """Return the next joints of both sides, the left one's first, and the last ones."""
    outwards = random.uniform(*angles, 2)
    middles = ends + lengths[0] * _direction(outwards)
    return middles, middles + lengths[1] * _direction(outwards + random.uniform(-_BENT, _BENT, 2))


def _direction(outwards: Points) -> Points:
    """Directions by their angles from straight down, to the left side and to the right side."""
    return np.stack([np.sin(outwards) * (1, -1), -np.cos(outwards)], axis=1)


def _draw(pixels: Points, joints: Points, random: np.random.Generator) -> Mask:
    """Draw a person; returns which pixels that are."""
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
    """Return the joints of a person of whom these pixels are seen."""
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
