"""Skeletons: the joints of a person that a pose net predicts, and the limbs that connect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from netdsl.data.transforms.mean import Pixels

Numbers = tuple[int, ...]


class Visibility(IntEnum):
    """The mark of a joint in an image. The values are Caffe's."""

    HIDDEN = 0  # something covers it
    SHOWN = 1
    OUTSIDE = 2  # it is outside the image
    UNKNOWN = 3  # the data set doesn't mark it


@dataclass(frozen=True)
class Skeleton:
    """Joints halfway between two joints of a database. If both are the same, the joint is that joint itself.

    `mirrored` lists the joints in their order in a mirrored image, where left and right are exchanged. Each limb
    connects two joints.
    """

    joints: tuple[Numbers, Numbers]
    mirrored: Numbers
    limbs: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.mirrored)

    @property
    def stored(self) -> int:
        """The least number of joints that a database needs."""
        return 1 + max(map(max, self.joints))

    def of_stored(self, joints: Pixels) -> Pixels:
        """Return the joints of people, as rows of (x, y, visibility), from the joints in a database."""
        first, second = (joints[:, list(numbers)] for numbers in self.joints)
        made: Pixels = (first + second) / 2
        seen = np.minimum(first[..., 2], second[..., 2])
        for kind in (Visibility.UNKNOWN, Visibility.OUTSIDE):
            seen[(first[..., 2] == kind) | (second[..., 2] == kind)] = kind
        made[..., 2] = seen
        return made


def _swapped(count: int, right: Sequence[int], left: Sequence[int]) -> Numbers:
    order = list(range(count))
    for a, b in zip(right, left, strict=True):
        order[a], order[b] = b, a
    return tuple(order)


def plain_skeleton(count: int, *, swaps: bool) -> Skeleton:
    """Return this many joints as a database stores them.

    With `swaps`, mirroring exchanges left and right joints, if they are known for this number of joints.
    """
    same = tuple(range(count))
    return Skeleton((same, same), _FLIC if swaps and count == len(_FLIC) else same)


_FLIC = _swapped(9, (0, 1, 2, 6), (3, 4, 5, 7))
_BODY = (2, 3, 4, 8, 9, 10), (5, 6, 7, 11, 12, 13)  # right and left: shoulder, elbow, wrist, hip, knee, ankle
_MPI_BODY = (9, 8, 12, 11, 10, 13, 14, 15, 2, 1, 0, 3, 4, 5)  # head, neck, arms, legs, with right before left

COCO = Skeleton(
    (
        (0, 5, 6, 8, 10, 5, 7, 9, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3),
        (0, 6, 6, 8, 10, 5, 7, 9, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3),  # the neck is between the shoulders
    ),
    _swapped(18, (*_BODY[0], 14, 16), (*_BODY[1], 15, 17)),
    (
        *((1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13), (1, 2), (2, 3), (3, 4), (2, 16)),
        *((1, 5), (5, 6), (6, 7), (5, 17), (1, 0), (0, 14), (0, 15), (14, 16), (15, 17)),
    ),
)
MPI = Skeleton(
    ((*_MPI_BODY, 7), (*_MPI_BODY, 6)),  # the last one is between thorax and pelvis
    _swapped(15, *_BODY),
    (
        *((0, 1), (1, 2), (2, 3), (3, 4), (1, 5), (5, 6), (6, 7), (1, 14)),
        *((14, 8), (8, 9), (9, 10), (14, 11), (11, 12), (12, 13)),
    ),
)
MPI_SINGLE = Skeleton((_MPI_BODY, _MPI_BODY), _swapped(14, *_BODY))
MPI_MIDDLES = Skeleton(  # joints, thorax and pelvis, and the centers of limbs
    (
        (*_MPI_BODY, 7, 6, 9, 8, 12, 11, 8, 13, 14, 2, 1, 3, 4, 6),
        (*_MPI_BODY, 7, 6, 8, 12, 11, 10, 13, 14, 15, 1, 0, 4, 5, 7),
    ),
    _swapped(28, (*_BODY[0], 17, 18, 19, 23, 24), (*_BODY[1], 20, 21, 22, 25, 26)),
)
