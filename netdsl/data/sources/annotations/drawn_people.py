"""Pictures of people with their joints and masks, drawn by this program, to try pose nets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Joint, MarkedObject
from netdsl.data.sources.annotations.class_list import BACKGROUND
from netdsl.data.sources.annotations.drawn_pictures import DrawnPictures, drawn_ground
from netdsl.data.sources.annotations.masks import Mask, edges_of
from netdsl.data.sources.annotations.run_lengths import RunLengths
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.pose_skeleton import Visibility

_MOST_PEOPLE = 3  # on a picture
_HEIGHTS = 0.5, 0.9  # parts of a side
_UNMARKED = 0.15  # part of the people whose joints nobody marked
_LEAST = 0.2  # part of a person that is seen, below which nobody marked the joints
_PLACES = 0.25, 0.75  # parts of a side, between which people's hips are
_PERSON = 1  # the label

Points = NDArray[np.float64]

# In parts of a person's height, across and up from the middle of the hips.
_HEAD = ((0, 0.40), (0.03, 0.43), (-0.03, 0.43), (0.06, 0.42), (-0.06, 0.42))  # nose, eyes, ears; left is first
_SHOULDERS, _HIPS = ((0.11, 0.30), (-0.11, 0.30)), ((0.07, 0.0), (-0.07, 0.0))
_ARM, _LEG = (0.16, 0.15), (0.23, 0.22)  # the upper part's and the lower one's length
_RAISED, _SPREAD = (-0.3, 2.6), (-0.1, 0.6)  # angles of arms and of legs, outwards from straight down
_BENT = 0.7  # the largest angle of an elbow or a knee
_LEAN = 0.3  # the largest angle of a person
_LIMB, _SKULL = 0.055, 0.08  # how thick limbs are, and how large heads
_LIMBS = ((5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16))
_TRUNK = (5, 6, 12, 11)
_LEFT = (5, 7, 11, 13)  # joints where left limbs begin
_DARK = 0.6  # part of a right limb's brightness that a left one has
_NOT_MARKED = Joint(0, 0, Visibility.UNKNOWN)


class DrawnPeople(DrawnPictures):
    """Up to three people on each picture, one in front of the other, who face the viewer.

    Their joints are COCO's. Those behind somebody else are hidden, those outside of the picture aren't marked, and of
    people who are mostly hidden, and of some others, none is. Left arms and legs are darker than right ones.
    """

    kind, side = "people", 160
    classes = (BACKGROUND, "person")

    def image(self, index: int) -> AnnotatedImage:
        """A picture and its people."""
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
            known = random.random() >= _UNMARKED and visible.sum() >= _LEAST * whole
            if visible.any():
                objects.append(_person(visible, _joints(pose, visible) if known else (_NOT_MARKED,) * len(pose)))
        return self._picture(index, pixels, objects, random)


def _pose(random: np.random.Generator) -> Points:
    """The joints of a person of height 1, as x and y from the middle of the hips, y growing downwards."""
    shoulders, hips = np.array(_SHOULDERS), np.array(_HIPS)
    arms = _limbs(shoulders, _ARM, _RAISED, random)
    legs = _limbs(hips, _LEG, _SPREAD, random)
    joints = np.concatenate([_HEAD, shoulders, *arms, hips, *legs])
    lean = random.uniform(-_LEAN, _LEAN)
    turn = np.array([[np.cos(lean), np.sin(lean)], [-np.sin(lean), np.cos(lean)]])
    pose: Points = joints @ turn * (1, -1)
    return pose


def _limbs(
    ends: Points, lengths: tuple[float, float], angles: tuple[float, float], random: np.random.Generator
) -> tuple[Points, Points]:
    """The next joints of both sides, the left one's first, and the last ones."""
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
    """The joints of a person of whom these pixels are seen."""
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
